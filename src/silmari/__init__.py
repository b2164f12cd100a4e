"""Silmari: answers with proof from your own files, in Korean and English."""

from __future__ import annotations

__version__ = "0.1.0"
