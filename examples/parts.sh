#!/bin/sh
# A table in parts by GNU parallel, verified and joined; a run that was stopped goes on where it was.
set -e
folder=${1:-parts} count=${2:-16}
mkdir -p "$folder"
seq 0 $((count - 1)) | parallel --halt soon,fail=1 --joblog "$folder/.jobs" --resume-failed \
  pecli generate sinusoidal --dim 512 --len "${LEN:-1M}" --threads 1 --shard "{}/$count" -q -o "$folder/{}.parquet"
pecli verify "$folder"
pecli convert "$folder" -q -o "$folder/.whole.h5"
