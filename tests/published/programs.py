#!/usr/bin/env python3
"""Writes the programs of steps.tsv as an archive of StableHLO: what one core runs, with donated state.

Needs JAX, and no device.

usage: programs.py steps_programs.tar.xz [NAME...]
"""

import io
import re
import sys
import tarfile

import jax
import models as old
from decoder import bf16, decoder
from jax.sharding import AbstractMesh, PartitionSpec

# Projections that MaxText keeps for the backward pass, in the memory of the device or of the host.
PROJECTIONS = ("query_proj", "key_proj", "value_proj")
LLAMA_8B = ("decoder_layer_input", "out_proj", *PROJECTIONS)
LLAMA_70B = ("decoder_layer_input", *PROJECTIONS)


def llama3_8b(cores, batch):
    return cores, decoder("llama3_8b", cores, batch, 8192, LLAMA_8B)


def llama3_70b(cores, batch, **options):
    return cores, decoder("llama3_70b", cores, batch, 8192, LLAMA_70B, **options)


# Cores, and (step, state, batch) of each.
PROGRAMS = {
    "resnet50": lambda: (8, old.data_parallel(old.m.resnet50(128), old.steps.momentum)),
    "ssd": lambda: (8, old.ssd(128)),
    "gnmt_32": lambda: (8, old.gnmt(256, 32)),
    "gnmt_48": lambda: (8, old.gnmt(256, 48)),
    "product": lambda: (8, old.product(8192, 8192, 16384)),
    "reduce_scatter": lambda: (2, old.reduce_scatter(65536, 1024)),
    "mnist_notebook": lambda: (8, old.mnist_notebook(32)),
    "maxtext_22b": lambda: (64, decoder("maxtext_22b", 64, 16, 1024, iota=False)),
    "maxtext_52b": lambda: (192, decoder("maxtext_52b", 192, 10, 1024, iota=False)),
    "maxtext_16b": lambda: (256, decoder("maxtext_16b", 256, 6, 2048, iota=False)),
    "maxtext_32b": lambda: (256, decoder("maxtext_32b", 256, 4, 2048, iota=False)),
    "maxtext_64b": lambda: (256, decoder("maxtext_64b", 256, 2, 2048, iota=False)),
    "llama2_70b_v5p": lambda: (
        512,
        decoder("llama2_70b", 512, 4, 4096, (*PROJECTIONS, "out_proj", "mlpwo")),
    ),
    "llama3_405b_v5p": lambda: (512, decoder("llama3_405b", 512, 2, 8192, ("context", "mlpwo"))),
    "llama3_8b_v6e_8": lambda: llama3_8b(8, 3),
    "llama3_8b_v6e_16": lambda: llama3_8b(16, 3),
    "llama3_8b_v6e_32": lambda: llama3_8b(32, 3),
    "llama3_8b_v6e_64": lambda: llama3_8b(64, 5),
    "llama3_8b_v6e_128": lambda: llama3_8b(128, 4),
    "llama3_8b_v6e_256": lambda: llama3_8b(256, 4),
    "llama3_70b_v6e_32": lambda: llama3_70b(32, 2, dtype=bf16),
    "llama3_70b_v6e_64": lambda: llama3_70b(64, 2),
    "llama3_70b_v6e_128": lambda: llama3_70b(128, 4),
    "llama3_70b_v6e_256": lambda: llama3_70b(256, 5),
    "llama2_70b_v6e": lambda: (256, decoder("llama2_70b", 256, 2, 4096, PROJECTIONS)),
    "mistral_7b_v6e": lambda: (8, decoder("mistral_7b", 8, 6, 8192, LLAMA_8B)),
    "gpt3_175b_v6e": lambda: (256, decoder("gpt3_175b", 256, 3, 2048)),
    "llama3_70b_7x_64": lambda: (128, decoder("llama3_70b", 128, 2, 8192, ("context", *LLAMA_70B))),
    "llama3_70b_7x_256": lambda: (512, decoder("llama3_70b", 512, 2, 8192, ("context", *LLAMA_70B))),
    "llama3_405b_7x": lambda: (
        512,
        decoder("llama3_405b", 512, 3, 8192, ("decoder_layer_input", "mlpwo", "key_proj", "value_proj")),
    ),
}


# The region over the cores is all that the program has.
REGION = re.compile(
    r"  func\.func public @main\(.*?\n"
    r"    %\d+(?::\d+)? = sdy\.manual_computation\(.*?\} \((?P<parameters>.*?)\) \{\n"
    r"(?P<body>.*?)"
    r"      sdy\.return (?P<results>.*?) : (?P<types>.*?)\n"
    r"    \} : .*?\n    return .*?\n  \}\n",
    re.DOTALL,
)


def of_one_core(text, state):
    """The program of one core, whose first results are written over the state."""
    region = REGION.search(text)
    parameters = region["parameters"].split(", ")
    for i in range(state):
        parameters[i] += f" {{tf.aliasing_output = {i} : i32}}"
    main = (
        f"  func.func public @main({', '.join(parameters)}) -> ({region['types']}) {{\n"
        f"{region['body']}    return {region['results']} : {region['types']}\n  }}\n"
    )
    return re.sub(r"  sdy\.mesh .*\n", "", text[: region.start()] + main + text[region.end() :])


def text_of(cores, program):
    step, state, batch = program
    everywhere = PartitionSpec()
    sharded = jax.shard_map(
        step, mesh=AbstractMesh((cores,), ("x",)), in_specs=everywhere, out_specs=everywhere, check_vma=False
    )
    lowered = jax.jit(sharded).trace(state, *batch).lower(lowering_platforms=("tpu",))
    return of_one_core(lowered.as_text(), len(jax.tree_util.tree_leaves(state)))


def main():
    with tarfile.open(sys.argv[1], "w:xz") as archive:
        for name in sys.argv[2:] or PROGRAMS:
            text = text_of(*PROGRAMS[name]()).encode()
            member = tarfile.TarInfo(f"{name}.mlir")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


if __name__ == "__main__":
    main()
