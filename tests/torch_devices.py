"""The devices that torch finds here: tests of a GPU are collected only where there is one."""

import torch

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
