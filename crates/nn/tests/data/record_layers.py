"""Records what torch's layers answer into layers.safetensors beside this file.

For each case: the state dict, inputs, output, and the gradients of sum(output * weights) by inputs and
parameters. Run by hand where torch is installed; the tests read the file.
"""

import pathlib

import torch
from safetensors.torch import save_file
from torch import nn

HERE = pathlib.Path(__file__).parent
D = {"dtype": torch.float64}


def normal(*sizes):
    return torch.randn(*sizes, **D)


torch.manual_seed(0)
CASES = {
    "linear": (nn.Linear(3, 4, **D), [normal(2, 5, 3)]),
    "linear_plain": (nn.Linear(3, 4, bias=False, **D), [normal(3)]),
    "bilinear": (nn.Bilinear(3, 4, 2, **D), [normal(5, 3), normal(5, 4)]),
    "conv1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2, **D), [normal(2, 4, 9)]),
    "conv2d": (nn.Conv2d(3, 4, (3, 2), padding="same", dilation=2, **D), [normal(2, 3, 6, 7)]),
    "conv2d_reflect": (nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect", **D), [normal(2, 3, 5, 5)]),
    "conv3d": (nn.Conv3d(2, 3, 2, bias=False, **D), [normal(1, 2, 3, 4, 3)]),
    "conv_transpose1d": (nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, groups=2, **D), [normal(2, 4, 5)]),
    "conv_transpose2d": (nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, **D), [normal(2, 3, 4, 5)]),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 3, 2, dilation=2, **D), [normal(1, 2, 3, 2, 3)]),
    "max_pool2d": (nn.MaxPool2d(3, stride=2, padding=1), [normal(2, 3, 7, 6)]),
    "avg_pool1d": (nn.AvgPool1d(3, stride=2, padding=1, ceil_mode=True), [normal(2, 3, 8)]),
    "avg_pool2d": (nn.AvgPool2d(2, count_include_pad=False, padding=1), [normal(2, 3, 5, 5)]),
    "lp_pool2d": (nn.LPPool2d(2, 2), [normal(2, 3, 4, 6).abs()]),
    "adaptive_avg_pool2d": (nn.AdaptiveAvgPool2d((2, 3)), [normal(2, 3, 5, 7)]),
    "adaptive_max_pool1d": (nn.AdaptiveMaxPool1d(3), [normal(2, 3, 8)]),
    "layer_norm": (nn.LayerNorm((3, 4), **D), [normal(2, 3, 4)]),
    "rms_norm": (nn.RMSNorm(4, **D), [normal(2, 3, 4)]),
    "group_norm": (nn.GroupNorm(2, 6, **D), [normal(2, 6, 3)]),
    "instance_norm2d": (nn.InstanceNorm2d(3, affine=True, **D), [normal(2, 3, 4, 5)]),
    "batch_norm1d": (nn.BatchNorm1d(3, **D), [normal(6, 3)]),
    "batch_norm2d": (nn.BatchNorm2d(3, **D), [normal(2, 3, 4, 5)]),
    "batch_norm2d_cumulative": (nn.BatchNorm2d(3, momentum=None, **D), [normal(2, 3, 4, 5)]),
    "batch_norm3d_eval": (nn.BatchNorm3d(2, **D).eval(), [normal(2, 2, 3, 2, 2)]),
    "embedding": (nn.Embedding(7, 3, padding_idx=2, **D), [torch.tensor([[0, 2, 2], [6, 1, 0]])]),
    "embedding_bag": (nn.EmbeddingBag(7, 3, mode="sum", **D), [torch.tensor([[0, 2, 2], [6, 1, 0]])]),
    "prelu": (nn.PReLU(3, **D), [normal(2, 3, 4)]),
    "attention": (nn.MultiheadAttention(8, 2, batch_first=True, **D), [normal(2, 5, 8)]),
    "attention_cross": (nn.MultiheadAttention(8, 2, kdim=6, vdim=4, **D), [normal(5, 2, 8), normal(3, 2, 6), normal(3, 2, 4)]),
    "attention_masked": (nn.MultiheadAttention(8, 2, batch_first=True, **D), [normal(2, 5, 8)]),
    "attention_plain": (nn.MultiheadAttention(8, 4, bias=False, **D), [normal(5, 8)]),
    "encoder_layer": (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, **D), [normal(5, 2, 8)]),
    "encoder_layer_first": (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", norm_first=True, batch_first=True, **D), [normal(2, 5, 8)]),
    "decoder_layer": (nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, **D), [normal(5, 2, 8), normal(3, 2, 8)]),
    "encoder": (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, **D), 2, enable_nested_tensor=False), [normal(5, 2, 8)]),
    "decoder": (nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, **D), 2), [normal(5, 2, 8), normal(3, 2, 8)]),
    "transformer": (nn.Transformer(8, 2, 2, 1, 16, dropout=0.0, **D), [normal(5, 2, 8), normal(3, 2, 8)]),
    "sequential": (nn.Sequential(nn.Linear(4, 8, **D), nn.Tanh(), nn.Linear(8, 3, **D)), [normal(2, 4)]),
    "lstm_cell": (nn.LSTMCell(3, 4, **D), [normal(2, 3), normal(2, 4), normal(2, 4)]),
    "gru_cell": (nn.GRUCell(3, 4, **D), [normal(2, 3), normal(2, 4)]),
    "rnn_cell": (nn.RNNCell(3, 4, **D), [normal(2, 3), normal(2, 4)]),
    "lstm": (nn.LSTM(3, 4, num_layers=2, bidirectional=True, **D), [normal(5, 2, 3)]),
    "upsample": (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), [normal(2, 3, 4, 5)]),
    "pixel_shuffle": (nn.PixelShuffle(2), [normal(1, 8, 2, 3)]),
    "reflection_pad": (nn.ReflectionPad2d((1, 2, 0, 1)), [normal(2, 3, 4, 5)]),
    "zero_pad": (nn.ZeroPad2d((1, 0, 2, 1)), [normal(2, 3, 4, 5)]),
    "flatten": (nn.Flatten(), [normal(2, 3, 4)]),
    **{name: (layer, [normal(3, 4) * 2]) for name, layer in {
        "relu": nn.ReLU(), "relu6": nn.ReLU6(), "leaky_relu": nn.LeakyReLU(), "elu": nn.ELU(), "selu": nn.SELU(),
        "celu": nn.CELU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh"), "silu": nn.SiLU(), "mish": nn.Mish(),
        "softplus": nn.Softplus(), "softsign": nn.Softsign(), "softshrink": nn.Softshrink(), "hardshrink": nn.Hardshrink(),
        "tanhshrink": nn.Tanhshrink(), "hardtanh": nn.Hardtanh(), "hardswish": nn.Hardswish(), "hardsigmoid": nn.Hardsigmoid(),
        "tanh": nn.Tanh(), "sigmoid": nn.Sigmoid(), "log_sigmoid": nn.LogSigmoid(), "threshold": nn.Threshold(0.5, -1.0),
        "softmax": nn.Softmax(1), "log_softmax": nn.LogSoftmax(0), "softmin": nn.Softmin(-1), "glu": nn.GLU(1),
    }.items()},
    **{name: (loss, [normal(5, 4), target]) for name, loss, target in (
        ("cross_entropy", nn.CrossEntropyLoss(label_smoothing=0.1), torch.tensor([0, 3, -100, 1, 1])),
        ("nll", nn.NLLLoss(), torch.tensor([0, 3, -100, 1, 1])),
        ("mse", nn.MSELoss(), normal(5, 4)),
        ("l1", nn.L1Loss(), normal(5, 4)),
        ("smooth_l1", nn.SmoothL1Loss(beta=0.5), normal(5, 4)),
        ("huber", nn.HuberLoss(delta=0.5), normal(5, 4)),
        ("bce_with_logits", nn.BCEWithLogitsLoss(), torch.rand(5, 4, **D)),
        ("kl_div", nn.KLDivLoss(), torch.rand(5, 4, **D)),
        ("soft_margin", nn.SoftMarginLoss(), normal(5, 4).sign()),
        ("hinge_embedding", nn.HingeEmbeddingLoss(), normal(5, 4).sign()),
    )},
    "triplet": (nn.TripletMarginLoss(), [normal(5, 4), normal(5, 4), normal(5, 4)]),
    "cosine_embedding": (nn.CosineEmbeddingLoss(margin=0.1), [normal(5, 4), normal(5, 4), normal(5).sign()]),
    "margin_ranking": (nn.MarginRankingLoss(margin=0.1), [normal(5), normal(5), normal(5).sign()]),
}  # fmt: skip


def call(name, layer, inputs):
    if name.startswith("attention"):
        query, key, value = inputs if len(inputs) == 3 else inputs * 3
        options = {}
        if name == "attention_masked":
            options["attn_mask"] = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
            options["key_padding_mask"] = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        return layer(query, key, value, need_weights=True, **options)
    if name == "lstm_cell":
        return layer(inputs[0], tuple(inputs[1:]))
    if name == "lstm":
        output, (hidden, cell) = layer(inputs[0])
        return output, hidden, cell
    return layer(*inputs)


def main():
    answers = {}
    for name, (layer, inputs) in CASES.items():
        torch.manual_seed(len(answers))
        # Constant first values, such as those of norms, would hide mistakes.
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
            for buffer in layer.buffers():
                if buffer.is_floating_point():
                    buffer.add_(0.1 * torch.rand_like(buffer))
        for key, value in layer.state_dict().items():
            answers[f"{name}/state/{key}"] = value.clone()
        # Targets have no gradient.
        has_target = isinstance(layer, nn.modules.loss._Loss) and name != "triplet"
        for x in inputs[:-1] if has_target else inputs:
            x.requires_grad_(x.is_floating_point())
        results = call(name, layer, inputs)
        results = results if isinstance(results, tuple) else (results,)
        loss = 0
        for i, result in enumerate(results):
            answers[f"{name}/output/{i}"] = result.detach()
            weights = torch.randn_like(result)
            answers[f"{name}/weights/{i}"] = weights
            loss = loss + (result * weights).sum()
        loss.backward()
        for i, x in enumerate(inputs):
            answers[f"{name}/input/{i}"] = x.detach()
            if x.grad is not None:
                answers[f"{name}/grad_input/{i}"] = x.grad
        for key, parameter in layer.named_parameters():
            answers[f"{name}/grad/{key}"] = parameter.grad
        for key, value in layer.named_buffers():
            answers[f"{name}/after/{key}"] = value.clone()
    answers = {key: value.contiguous().clone() for key, value in answers.items()}
    save_file(answers, HERE / "layers.safetensors")


if __name__ == "__main__":
    main()
