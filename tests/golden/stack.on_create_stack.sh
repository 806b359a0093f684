#!/bin/bash
# HyperPod lifecycle script for NVIDIA B200 p6-b200.48xlarge x86_64, by stackcheck resolve (policy newest,
# matrices 2026.11.29)
# needs on the node as well: slurm 24.11.6
set -eu

# whether version $1 is at least version $2
at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# CUDA 13.0 needs 580.65.06 or newer, and the B200 the open kernel modules
want=580.65.06
have=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
if ! at_least "$have" "$want"; then
    echo "driver $have is older than $want: choose an AMI release with a newer one" >&2
    exit 1
fi

want=1.43.3
install=1.47.0
have=$(sed -n 's/^# EFA installer version: //p' /opt/amazon/efa_installed_packages 2>/dev/null || true)
if ! at_least "${have:-0}" "$want"; then
    cd "$(mktemp -d)"
    curl -fsSLO "https://efa-installer.amazonaws.com/aws-efa-installer-$install.tar.gz"
    tar -xf "aws-efa-installer-$install.tar.gz"
    (cd aws-efa-installer && ./efa_installer.sh -y)
fi
