"""The exercises of the lessons (docs/lessons), and the check of their answers.

>>> import numpy as np
>>> from zoo import lessons
>>> lessons.check("luong.dot", lambda h_t, h_s: h_t @ h_s.T)
Right.
True
>>> lessons.check("luong.dot", lambda h_t, h_s: h_s @ h_t.T)
Not yet: the axes are in another order, (S, T) where (T, S) is wanted.
False
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"checking": ["EXERCISES", "Exercise", "answer", "check", "question"]},
)
