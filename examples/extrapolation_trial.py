"""Train a small causal attention model for each encoding, and measure its loss past the length it was trained on.

    python examples/extrapolation_trial.py
    python examples/extrapolation_trial.py rope:dim=16 rope:dim=16,base=1000000 --train 64 --test 256 --markdown

Needs PyTorch (pip install 'pecli[torch]') and takes some minutes on two cores.  A sequence is pairs of a key and a
value: a key shows the value that it showed last, or with probability CHANGE a new random one.  To predict a value, the
model must find the latest showing of its key, by content and by position.  A predictor that does so perfectly gives
the lowest possible loss.  One layer of attention shows the effect; it is no benchmark of models.
"""

import argparse
import math

import torch

import pecli
from pecli.torch import AbsoluteModule, BiasModule, RotaryModule

KEYS, VALUES, CHANGE = 6, 8, 0.2
TOKENS = KEYS + VALUES
WIDTH, HEADS = 64, 4
RECIPES = (
    f"learned:dim={WIDTH}",
    f"sinusoidal:dim={WIDTH}",
    f"rope:dim={WIDTH // HEADS}",
    f"rope:dim={WIDTH // HEADS},scaling=yarn",
    f"alibi:heads={HEADS}",
    f"none:dim={WIDTH}",
)


def sequences(generator, batch, length):
    """Return tokens (batch, length), keys at even places, and the loss of the perfect predictor (batch, length/2)."""
    pairs, rows = length // 2, torch.arange(batch)
    keys = torch.randint(KEYS, (batch, pairs), generator=generator)
    drawn = torch.randint(VALUES, (batch, pairs), generator=generator)
    keeps = torch.rand(batch, pairs, generator=generator) >= CHANGE
    last = torch.full((batch, KEYS), -1)
    values, floor = torch.empty_like(drawn), torch.empty(batch, pairs)
    for place in range(pairs):
        before = last[rows, keys[:, place]]
        value = torch.where((before >= 0) & keeps[:, place], before, drawn[:, place])
        known = torch.where(value == before, 1 - CHANGE + CHANGE / VALUES, CHANGE / VALUES)
        floor[:, place] = -torch.log(torch.where(before >= 0, known, torch.tensor(1 / VALUES)))
        values[:, place] = last[rows, keys[:, place]] = value
    return torch.stack((keys, KEYS + values), -1).flatten(1), floor


class Positions(torch.nn.Module):
    """The encoding of a recipe in a model: pecli's module of its family, or nothing for `none`."""

    def __init__(self, recipe, length):
        super().__init__()
        self.family = pecli.Recipe.parse(recipe).encoding.family.word
        kinds = {"absolute": AbsoluteModule, "rotary": RotaryModule, "bias": BiasModule}
        if self.family not in {*kinds, "none"}:
            raise SystemExit(f"{recipe} is {self.family}: this model takes absolute, rotary and bias encodings")
        self.table = kinds[self.family](recipe, length) if self.family in kinds else None


class Model(torch.nn.Module):
    """One layer of causal attention; each token is its embedding plus one of the token before it."""

    def __init__(self, positions):
        super().__init__()
        self.positions = positions
        self.token, self.previous = torch.nn.Embedding(TOKENS, WIDTH), torch.nn.Embedding(TOKENS + 1, WIDTH)
        self.query, self.key, self.value, self.out = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.read = torch.nn.Linear(WIDTH, VALUES, bias=False)

    def forward(self, tokens):
        """Return the loss of each value, (batch, length/2)."""
        batch, length = tokens.shape
        before = torch.cat((torch.full((batch, 1), TOKENS), tokens[:, :-1]), 1)
        x = self.token(tokens) + self.previous(before)
        positions = self.positions
        if positions.family == "absolute":
            x = positions.table(x)
        q, k, v = (
            part(x).view(batch, length, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        if positions.family == "rotary":
            q, k = (positions.table.rotate(part, "half") for part in (q, k))
        mask = torch.full((length, length), -math.inf).triu(1)
        if positions.family == "bias":
            mask = mask + positions.table(length)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(HEADS, -1, -1))
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        logits = self.read(x[:, ::2])  # keys predict values; what follows a value is random
        return torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1::2] - KEYS, reduction="none")


def trained(recipe, seed, options):
    """Return a model trained on sequences of the training length; weights and data of a seed are the same for all."""
    torch.manual_seed(seed)
    model = Model(Positions(recipe, options.train))
    generator = torch.Generator().manual_seed(10_000 + seed)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=options.steps, pct_start=0.1)
    for _ in range(options.steps):
        optimiser.zero_grad()
        model(sequences(generator, options.batch, options.train)[0]).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model


def tested(model, recipe, tokens, options):
    """Return the mean loss of each value at the test length; at the training length where positions end there."""
    for length in (options.test, options.train):
        try:
            if not list(model.positions.parameters()):  # trained rows are kept
                model.positions = Positions(recipe, length)
            with torch.no_grad():
                return torch.cat([model(part[:, :length]) for part in tokens.split(options.batch)]).mean(0)
        except (pecli.PecliError, IndexError):
            continue
    raise SystemExit(f"{recipe} has no values at the training length")


def recipes_of(recipe, options):
    """Return the recipes of training and test: a scaling of rope is added after training, by the growth of length."""
    name, _, keys = recipe.partition(":")
    kept = [key for key in keys.split(",") if key and not key.startswith("scaling=")]
    if name == "learned":
        kept.append(f"max-len={options.train}")
    plain = f"{name}:{','.join(kept)}"
    if "scaling=" not in keys:
        return plain, plain
    scaling = next(key for key in keys.split(",") if key.startswith("scaling="))
    factor = f"factor={options.test / options.train:g}"
    return plain, f"{plain},{scaling},{factor},original-max={options.train}"


def main():
    """Train, test and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--train", type=int, default=64, help="tokens in training")
    parser.add_argument("--test", type=int, default=256, help="tokens in the test")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sequences", type=int, default=256, help="sequences in the test")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    tokens, floor = sequences(torch.Generator().manual_seed(1_000_003), options.sequences, options.test)
    inside = slice(options.train // 4, options.train // 2)  # values of the second half of the training length
    beyond = slice((options.test - options.train // 2) // 2, options.test // 2)  # as many at the end of the test
    rows = []
    for recipe in options.recipes:
        plain, test = recipes_of(recipe, options)
        losses = [tested(trained(plain, seed, options), test, tokens, options) for seed in range(options.seeds)]
        ends = [[float(loss[part].mean()) for loss in losses if len(loss) >= part.stop] for part in (inside, beyond)]
        rows.append((recipe, *ends))
    rows.append(("lowest possible", [float(floor[:, inside].mean())], [float(floor[:, beyond].mean())]))
    bar = " | " if options.markdown else "  "
    print(f"{'encoding':28}{bar}{'inside':>20}{bar}{'beyond':>20}{bar}{'perplexity beyond':>17}")
    if options.markdown:
        print("---|--:|--:|--:")
    for name, *ends in rows:
        shown = [f"{sum(e) / len(e):.3f} ({min(e):.3f}-{max(e):.3f})" if e else "no values" for e in ends]
        perplexity = f"{math.exp(sum(ends[1]) / len(ends[1])):.2f}" if ends[1] else ""
        print(f"{name:28}{bar}{shown[0]:>20}{bar}{shown[1]:>20}{bar}{perplexity:>17}", flush=True)


if __name__ == "__main__":
    main()
