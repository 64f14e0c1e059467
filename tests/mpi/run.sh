#!/bin/sh
# run.sh <ranks> <program> <argument>...: runs the program on this machine by Open MPI's mpirun. Exits with 77, "skipped", where
# it or our library is missing.
set -eu
ranks=$1
program=$2
shift 2
if ! command -v mpirun >/dev/null || [ ! -e "$(dirname "$program")/../lib/libsystole_mpi.so" ]; then
  echo "skipped: needs mpirun (openmpi-bin) and a build with libopenmpi-dev"
  exit 77
fi
# A container runs as root. Only loopback: tests must not depend on the machine's network.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_base_warn_component_unused=0
# SYSTOLE_MPI_BIND=core gives each process a core of its own, for figures.
exec mpirun --oversubscribe --bind-to "${SYSTOLE_MPI_BIND:-none}" -n "$ranks" "$program" "$@"
