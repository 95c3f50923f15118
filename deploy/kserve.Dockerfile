# KServe's Python server with ONNX exports, without TensorFlow and Keras:
#   docker build -f deploy/kserve.Dockerfile -t REGISTRY/zoo-kserve:0.1.0 .
FROM python:3.12-slim
RUN pip install --no-cache-dir \
    "kserve>=0.21" "onnxruntime>=1.32" "sentencepiece>=0.2" "regex>=2024.11.6" \
    "lazy-loader>=0.4" "pillow>=12"
COPY zoo /app/zoo
ENV PYTHONPATH=/app
USER 65534
EXPOSE 8500 8501
ENTRYPOINT ["python", "-m", "zoo.servers.kserve"]
CMD ["--help"]
