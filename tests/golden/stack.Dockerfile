# Image for NVIDIA B200 p6-b200.48xlarge x86_64, by stackcheck resolve (policy newest, matrices 2026.11.29)
# the newest image whose torch holds sm_100 code
# its patch window ends on 2026-10-22
# docker build --build-arg AWS_REGION=... (the region of the registry to pull from)
ARG AWS_REGION
FROM 123456789012.dkr.ecr.${AWS_REGION}.amazonaws.com/pytorch-training:2.9.0-gpu-py312-cu130-ubuntu22.04-ec2@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

# On the host, not in this image:
# - driver 580.95.05 (or another of >=580.65.06)
# - efa-installer 1.47.0 (or another of >=1.43.3)
# - slurm 24.11.6

# EFA user space: aws-ofi-nccl 1.17.2; the kernel module stays on the host
# aws-ofi-nccl: fabric; the image holds none, and without it NCCL takes sockets
RUN apt-get update && curl -fsSLO https://efa-installer.amazonaws.com/aws-efa-installer-1.47.0.tar.gz \
 && tar -xf aws-efa-installer-1.47.0.tar.gz \
 && (cd aws-efa-installer && ./efa_installer.sh -y --skip-kmod --skip-limit-conf --no-verify) \
 && rm -rf aws-efa-installer aws-efa-installer-1.47.0.tar.gz

# torchaudio: framework; belongs to torch 2.9.0
# build cu130: uv pip install --torch-backend=cu130
# vllm: serving; a|b <script>alert('x')</script> "q" `t` $HOME \ & ]]> {{x}} %s é 日本 😀 [31mred[0m gnp next2J
# what the image holds is a constraint, so that pip does not replace it
RUN printf '%s\n' torch==2.9.0 > /tmp/held.txt
RUN python3 -m pip install --no-cache-dir uv \
 && uv pip install --system --no-cache --torch-backend=cu130 -c /tmp/held.txt \
      torchaudio==2.9.0 \
      vllm==0.12.0

# To install as well; no package of the Python index holds these:
# - gdrcopy 2.5.1: communication; first release for Blackwell
# - odd|one 1; rm -rf ~ : other

# what this target needs
ENV FI_PROVIDER="efa"
# the image sets NCCL_NET_PLUGIN=spcx
ENV NCCL_NET_PLUGIN="ofi"
ENV NASTY="a|b <script>alert('x')</script> \"q\" `t` \$HOME \\ & ]]> {{x}} %s é 日本 😀 [31mred[0m gnp next2J"

# set by the image already:
# - NVIDIA_VISIBLE_DEVICES=all
