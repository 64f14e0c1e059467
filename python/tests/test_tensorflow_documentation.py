"""make_documentation.py: comments of headers become documentation."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "make_documentation.py"
HEADER = """
// Ops. (tf.nn)
#pragma once

// -- A section.

struct SoftOptions {
  // The axis
  // of the sum.
  int64_t axis = -1;
  double alpha = 0.2;  // the slope
  std::string name = {};
};
// exp(x) along `axis`.
// (tf.nn.soft)
Output soft(const Input& logits,
            const SoftOptions& options = {});
Output soft_v2(const Input& logits);

Output without(const Input& x);
"""


def test_comments_and_options():
    found = runpy.run_path(str(SCRIPT))["documentation"](HEADER)
    assert found == {
        "soft": "exp(x) along `axis`. (tf.nn.soft)\n\nOptions:\n  axis: The axis of the sum.\n  alpha: the slope",
        "soft_v2": "exp(x) along `axis`. (tf.nn.soft)",
    }


def test_a_table_of_c_is_written(tmp_path):
    (tmp_path / "ops.h").write_text(HEADER)
    runpy.run_path(str(SCRIPT))["main"]([str(tmp_path / "out.inc"), str(tmp_path / "ops.h")])
    text = (tmp_path / "out.inc").read_text()
    assert text.startswith('{"soft", R"doc(exp(x) along `axis`.')
    assert text.count('{"') == 2
