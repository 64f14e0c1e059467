"""Boxes in images: tf.image.non_max_suppression_padded."""

from __future__ import annotations

from typing import Any

from ._control import while_loop
from ._framework import op
from ._registry import export


def _areas(boxes: Any) -> tuple[Any, Any, Any, Any, Any]:
    """(top, left, bottom, right, area) of boxes [n, 4], whose corners are any two opposite ones."""
    y1, x1, y2, x2 = op("unstack", boxes, 4, 1)
    top, bottom = op("minimum", y1, y2), op("maximum", y1, y2)
    left, right = op("minimum", x1, x2), op("maximum", x1, x2)
    return top, left, bottom, right, (bottom - top) * (right - left)


def _overlaps(boxes: Any, box: Any) -> Any:
    """The intersections of boxes [n, 4] with one [4], by the unions: [n]."""
    top, left, bottom, right, area = _areas(boxes)
    own = _areas(op("expand_dims", box, 0))
    height = op("maximum", op("minimum", bottom, own[2]) - op("maximum", top, own[0]), 0.0)
    width = op("maximum", op("minimum", right, own[3]) - op("maximum", left, own[1]), 0.0)
    common = height * width
    return op("div_no_nan", common, area + own[4] - common)


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: Any = None,
) -> tuple[Any, Any]:
    """(numbers of the boxes of the highest scores that overlap little, filled up with 0; how many)"""
    if not pad_to_max_output_size or not isinstance(max_output_size, int):
        raise NotImplementedError(
            "tf.image.non_max_suppression_padded: expected pad_to_max_output_size=True and a number as "
            "max_output_size: the number of boxes is not known before a run"
        )
    none = op("constant", float("-inf"))
    left = op("where_v2", op("greater", scores, score_threshold), scores, none)

    def choose(i: Any, left: Any, chosen: Any, count: Any) -> Any:
        best = op("argmax", left, 0, output_type="int32")
        there = op("greater", op("reduce_max", left), none)
        here = op("logical_and", op("equal", op("range", max_output_size), count), there)
        chosen = op("where_v2", here, best, chosen)
        close = op("greater", _overlaps(boxes, op("gather", boxes, best)), iou_threshold)
        itself = op("equal", op("range", boxes.shape[0].value), best)
        left = op("where_v2", op("logical_or", close, itself), none, left)
        return i + 1, left, chosen, count + op("cast", there, "int32")

    first = (op("constant", 0), left, op("zeros", [max_output_size], "int32"), op("constant", 0))
    _, _, chosen, count = while_loop(lambda i, *rest: op("less", i, max_output_size), choose, first)
    return chosen, count
