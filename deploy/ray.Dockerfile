# Ray Serve with ONNX exports. Without tensorflow-serving-api, which brings TensorFlow,
# there is REST alone:
#   docker build -f deploy/ray.Dockerfile -t REGISTRY/zoo-ray:0.1.0 .
FROM rayproject/ray:2.60.0-py312
RUN pip install --no-cache-dir \
    "ray[serve-grpc]==2.60.0" "onnxruntime>=1.32" "sentencepiece>=0.2" \
    "regex>=2024.11.6" "lazy-loader>=0.4" "tensorflow-serving-api>=2.21"
COPY zoo /app/zoo
# The last is read by Ray's proxies: the most bytes of a message.
ENV PYTHONPATH=/app \
    RAY_USAGE_STATS_ENABLED=0 \
    RAY_SERVE_GRPC_MAX_MESSAGE_SIZE=134217728
EXPOSE 8080 8500 8501
