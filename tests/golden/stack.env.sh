# Environment for NVIDIA B200 p6-b200.48xlarge x86_64, by stackcheck resolve (policy newest, matrices
# 2026.11.29)

export FI_PROVIDER=efa
# the image sets NCCL_NET_PLUGIN=spcx
export NCCL_NET_PLUGIN=ofi
export NASTY='a|b <script>alert('"'"'x'"'"')</script> "q" `t` $HOME \ & ]]> {{x}} %s é 日本 😀 [31mred[0m gnp next2J'

# set by the image already:
# - NVIDIA_VISIBLE_DEVICES=all
