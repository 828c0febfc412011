import gzip
import io
import json
import lzma
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from support.refusals import refused
from support.tables import read_rows, write_table

from bilingual_crawler.scoring.models import ByteTokens, LanguageModel
from training import evaluate
from training.common.calibration import fit_temperature
from training.common.data import DataError, check_classes, check_disjoint, in_held_out, read_real, read_tsv
from training.common.loop import predict
from training.language import __main__ as language
from training.language import comparison, train
from training.language.baselines import TUNED, LanguageRules, best_order, train_fasttext
from training.language.cross_fit import cross_fit
from training.language.encoding import EncodedUrls as Encoded
from training.language.encoding import without_host
from training.language.examples import Examples, draw_weights, prepare
from training.language.fit import fit
from training.language.graph import language_graph
from training.language.network import WordNet, WordNetConfig
from training.language.recipe import LanguageRecipe as Recipe
from training.prepare import synthetic

ROOT = Path(__file__).parents[1]
SIZES: dict[str, Any] = {"rows": 1009, "word_rows": 503, "columns": 16, "width": 16}
CONFIG = WordNetConfig(labels=2, **SIZES)
TINY = Recipe(epochs=3, epoch_size=1600, batch=64, held_out=0.3, rate=0.02, folds=2, fold_epochs=2, **SIZES)
WORDS = {"eng": "news about house water city people", "mlt": "ahbarijiet dwar dar ilma belt nies"}


def write_urls(path: Path, domains: int = 60) -> Path:
    """Two languages whose words tell them apart, `domains` domains each, five URLs a domain."""
    rng = np.random.default_rng(0)
    rows = []
    for lang, words in WORDS.items():
        for i in range(domains):
            for _ in range(5):
                slug = "-".join(rng.choice(words.split(), 3))
                rows.append(f"https://{lang}site{i}.example/{slug}/{rng.integers(99)}\t{lang}\tlist")
    return write_table(path, "url lang source", rows)


def few_urls() -> list[tuple[str, ...]]:
    """Nine URLs of each of four domains and two languages."""
    return [(f"https://{word}.example/{number}", lang) for lang in WORDS for word in "abcd" for number in range(9)]


def encoded(examples: Examples) -> Encoded:
    return Encoded(ByteTokens(TINY.max_length), examples.urls)


def test_bad_rows_are_counted_with_their_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "urls.tsv.gz"
    rows = [b"url\tlang\tsource", b"https://a.example/\teng\tlist", b"https://b.example/", b"\teng\tlist"]
    rows += [b"https://a.example/\xff\teng\tlist", b"two words\teng\tlist"]
    rows += [b"https://c.example/" + b"x" * 2000 + b"\teng\tlist", b"https://d.example/\tmlt\tlist"]
    path.write_bytes(gzip.compress(b"\n".join(rows) + b"\n"))
    table = read_tsv(path, ("url", "lang"))
    assert table.rows == [("https://a.example/", "eng"), ("https://d.example/", "mlt")]
    assert [row.line for row in table.bad] == [3, 4, 5, 6, 7]
    assert "5 bad: line 3 (1 fields instead of 3)" in table.report()


def test_what_cannot_be_read_is_an_error_with_the_path(tmp_path: Path) -> None:
    packed = gzip.compress(b"url\tlang\nhttps://a.example\teng\n")
    (tmp_path / "cut.tsv.gz").write_bytes(packed[:-9])
    (tmp_path / "bits.tsv.gz").write_bytes(packed[:10] + bytes([packed[10] ^ 0xFF]) + packed[11:])
    write_table(tmp_path / "other.tsv", "a b")
    for name, message in (("none.tsv", ""), ("cut.tsv.gz", ""), ("bits.tsv.gz", ""), ("other.tsv", ".*no column url")):
        with pytest.raises(DataError, match=re.escape(name) + message):
            read_tsv(tmp_path / name, ("url",))
    graph = tmp_path / "sites" / "s" / "graph.tsv.xz"
    graph.parent.mkdir(parents=True)
    for content in (b"no xz", lzma.compress(b"url\tlang\nhttps://a.example/\n"), lzma.compress(b"")):
        graph.write_bytes(content)
        with pytest.raises(DataError, match=r"graph\.tsv\.xz"):
            read_real([tmp_path / "sites"])


def test_a_domain_in_two_splits_and_an_empty_class_are_fatal() -> None:
    with pytest.raises(DataError, match="example"):
        check_disjoint(["https://example.com/a"], ["http://www.example.fr/b"], ("train", "dev"))
    check_disjoint(["https://one.com"], ["https://two.com"], ("train", "dev"))
    with pytest.raises(DataError, match="mlt"):
        check_classes(["eng", "eng"], ["eng", "mlt"], "train")


def test_all_urls_of_a_domain_are_held_out_together() -> None:
    for i in range(50):
        urls = [f"https://site{i}.com/a", f"http://www.site{i}.org/b/c", f"https://mt.site{i}.com"]
        assert len({in_held_out(url, 0.5, 1) for url in urls}) == 1


def test_hiding_the_host() -> None:
    def shown(text: str, hide: float) -> str:
        ids = Encoded(ByteTokens(64), [text]).batch(np.array([0]), np.array([hide]))[0]
        return bytes(int(i) - 2 for i in ids).decode()

    assert shown("www.a.com/x-y", 1.0) == "www.a.com/x-y"
    assert shown("www.a.com/x-y", 0.7) == ".com/x-y"
    assert shown("www.a.com/x-y", 0.2) == "/x-y"
    assert shown("www.a.com", 0.2) == "www.a.com"
    assert len(without_host(np.array([], dtype=np.uint16), True)) == 0


def test_weights_temper_big_classes_and_big_domains() -> None:
    urls = [f"https://big.com/{i}" for i in range(16)] + ["https://small.com/1", "https://mt.com/1"]
    weights = draw_weights(urls, np.array([0] * 17 + [1]), 0.5, 0.5)
    assert weights.sum() == pytest.approx(1)
    assert weights[16] == pytest.approx(4 * weights[0])
    assert weights[17] == pytest.approx(weights[:17].sum() / 5**0.5)


def test_temperature_softens_overconfident_logits() -> None:
    torch.manual_seed(0)
    labels = torch.randint(0, 3, (3000,))
    right = torch.rand(3000) < 0.8
    chosen = torch.where(right, labels, (labels + 1) % 3)
    assert fit_temperature(20.0 * torch.nn.functional.one_hot(chosen, 3), labels.numpy()) > 3


def test_rules_look_at_query_directory_suffix_subdomain_in_this_order() -> None:
    languages = {"https://a.com/mt/x?lang=fr": "fra", "https://es.a.is/mt/x": "mlt", "https://es.a.is/about": "isl"}
    languages |= {"https://es.a.com/about": "spa", "https://a.com/x/is": "isl"}
    languages |= dict.fromkeys(("https://a.com/ES/about", "https://www.a.com/"), "unk")
    assert {url: LanguageRules().guess([url]) for url in languages} == {url: [lang] for url, lang in languages.items()}


def test_the_order_of_the_components_is_found() -> None:
    rows = [("https://mt.a.is/fr/x?l=es", "fra"), ("https://es.a.is/mt", "mlt"), ("https://mt.a.is/", "mlt")]
    order = best_order(rows)
    assert order.index("directories") == 0
    assert order.index("subdomain") < order.index("suffix")
    assert LanguageRules(order).guess([url for url, _ in rows]) == ["fra", "mlt", "mlt"]


def test_fasttext_learns_and_is_evaluated(tmp_path: Path) -> None:
    data, model = write_urls(tmp_path / "urls.tsv"), tmp_path / "model.bin"
    train_fasttext(read_real([data])[0], TUNED | {"bucket": 1000}, model, threads=1)
    report = tmp_path / "scores.json"
    assert evaluate.main(f"language --model fasttext:{model} --data {data} --json {report}".split()) == 0
    assert json.loads(report.read_text())["accuracy"] > 0.95
    assert not model.with_suffix(".txt").exists()


def test_sites_give_the_language_of_their_pages(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    with lzma.open(tmp_path / "site" / "graph.tsv.xz", "wt") as stream:
        stream.write("url\tlang\tlength\tlinks\nhttps://a.eus/\teus\t900\t\nhttps://a.eus/x\tun\t3\t\n")
    rows, report = read_real([tmp_path])
    assert rows == [("https://a.eus/", "eus")]
    assert "1 pages" in report[0]
    with pytest.raises(DataError, match="graph"):
        read_real([tmp_path / "site"])


def test_pairs_give_two_urls_each_and_repetitions_count_once(tmp_path: Path) -> None:
    pair = "https://a.mt/en\teng\thttps://a.mt/mt\tmlt"
    path = write_table(tmp_path / "sides.tsv", "url_a lang_a url_b lang_b", [pair, pair])
    rows, _ = read_real([path, path])
    assert rows == [("https://a.mt/en", "eng"), ("https://a.mt/mt", "mlt")]


def test_synthetic_urls_are_marked_and_carry_words_or_marks(tmp_path: Path) -> None:
    data, out = write_urls(tmp_path / "urls.tsv"), tmp_path / "synthetic.tsv.gz"
    for lang, text in WORDS.items():
        (tmp_path / f"{lang}.words.txt").write_text("\n".join(text.split() * 50))
    command = f"--data {data} --words {tmp_path} --out {out} --slugs 20 --markers 10".split()
    synthetic.main(command)
    rows = read_tsv(out, ("url", "lang", "source")).rows
    assert len(rows) == 60
    assert {source for _, _, source in rows} == {"synthetic-slug", "synthetic-marker"}
    first = read_rows(out)
    synthetic.main(command)
    assert read_rows(out) == first


@dataclass(frozen=True)
class Trained:
    """A language model, what it was trained with, and a list of other domains; its network, and what the run said."""

    command: list[str]
    data: Path
    other: Path
    model: Path
    network: WordNet
    said: str


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The small recipe, by a run that was killed and one that went on."""
    root = tmp_path_factory.mktemp("trained")
    data, other, folder = write_urls(root / "train.tsv"), write_urls(root / "test.tsv"), root / "model"
    other.write_text(other.read_text().replace("site", "other"))
    sizes = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in asdict(TINY).items())
    command = f"--data {data} --synthetic {data} --exclude {other} {sizes} --out".split()
    with subprocess.Popen([sys.executable, "-m", "training.language", *command, folder], cwd=ROOT) as process:
        deadline = time.monotonic() + 300
        while not (folder / "checkpoints" / "fold-2.pt").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "model.onnx").exists()
    networks: list[WordNet] = []
    said = io.StringIO()

    def noted(net: WordNet) -> onnx.ModelProto:
        networks.append(net)
        return language_graph(net)

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(train, "language_graph", noted)
        language.main([*command, str(folder)])
    return Trained(command, data, other, folder, networks[0], said.getvalue())


@pytest.mark.slow
def test_from_lists_to_scores(tmp_path: Path, trained: Trained, capsys: pytest.CaptureFixture[str]) -> None:
    assert not (trained.model / "checkpoints").exists()
    assert "macro-F1" in (trained.model / "README.md").read_text()
    assert set(LanguageModel(trained.model).labels) == {"eng", "mlt"}

    report, judged = tmp_path / "scores.json", tmp_path / "test.tsv"
    judged.write_text(trained.other.read_text() + "broken\n")
    assert evaluate.main(f"language --model {trained.model} --data {judged} --json {report} --least 5".split()) == 0
    scores = json.loads(report.read_text())
    assert scores["macro"]["f1"] > 0.95
    assert scores["classes"]["mlt"]["support"] == 300
    assert scores["bad_rows"] == 1
    assert scores["urls_per_second"] > 0
    said = capsys.readouterr().out
    assert "line 602" in said
    assert "macro of 2 classes" in said


@pytest.mark.slow
def test_a_killed_run_comes_to_the_same_end(tmp_path: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "going on after epoch" in trained.said
    networks: list[WordNet] = []

    def exported_before(net: WordNet) -> onnx.ModelProto:
        """The graph of the same network, which takes ten seconds to export."""
        networks.append(net)
        return onnx.load(trained.model / "model.onnx")

    monkeypatch.setattr(train, "language_graph", exported_before)
    language.main([*trained.command, str(tmp_path / "whole")])
    before, after = (network.state_dict() for network in (trained.network, *networks))
    assert all(torch.equal(weights, after[name]) for name, weights in before.items())
    assert (tmp_path / "whole" / "config.json").read_bytes() == (trained.model / "config.json").read_bytes()


def test_priors_are_moved_no_further_than_helps() -> None:
    rows: list[tuple[str, ...]] = [(f"https://e{number}.example/{number}", "eng") for number in range(200)]
    rows += [(f"https://m{number}.example/{number}", "mlt") for number in range(40)]
    recipe = replace(TINY, synthetic_share=0)
    examples = prepare(rows, [], set(), recipe)
    net = WordNet(CONFIG)
    labels = torch.from_numpy(examples.labels[examples.valid])
    sure = 20 * torch.nn.functional.one_hot(labels, 2).float()
    assert train.shift_priors(net, sure, examples, recipe)[1] == 0
    # the rare language is answered everywhere until the prior of the frequent one counts
    drawn_to_rare = torch.tensor([0.0, 0.4]) + 0.1 * torch.nn.functional.one_hot(labels, 2)
    before = net.head.bias.clone()
    _, share = train.shift_priors(net, drawn_to_rare, examples, recipe)
    assert 0 < share < 1
    assert net.head.bias[0] - net.head.bias[1] > before[0] - before[1]


@pytest.mark.slow
def test_targets_are_what_networks_say_of_domains_they_did_not_see(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sites = [("".join(rng.choice(list("abcdefghij"), 8)), lang) for lang in WORDS for _ in range(60)]
    rows: list[tuple[str, ...]] = [(f"https://{name}.example/page/{n}", lang) for name, lang in sites for n in range(5)]
    recipe = replace(TINY, epochs=4, fold_epochs=4, rate=0.05, gram_dropout=0, name_dropout=0)
    examples = prepare(rows, [], set(), recipe)
    data = encoded(examples)
    shown = np.flatnonzero(examples.real)
    labels = examples.labels[shown]
    targets = cross_fit(CONFIG, data, examples, recipe, tmp_path)
    assert np.array_equal(targets.rows([(url,) for url in examples.urls]) >= 0, examples.real > 0)
    places = targets.rows([(examples.urls[i],) for i in shown])
    unseen = (targets.probabilities[places] * (targets.top[places] == labels[:, None])).sum(1).mean()
    net = WordNet(CONFIG)
    fit(net, data, examples, recipe, tmp_path / "seen.pt")
    seen = predict(net, data, shown).softmax(1).numpy()[np.arange(len(shown)), labels].mean()
    assert unseen < seen - 0.1


def test_a_checkpoint_holds_for_its_urls_and_labels_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = replace(TINY, epochs=1, epoch_size=64)
    for end in ("", "", "x"):
        examples = prepare([(url + end, lang) for url, lang in few_urls()], [], set(), recipe)
        fit(WordNet(CONFIG), encoded(examples), examples, recipe, tmp_path / "net.pt")
    said = [line.partition(" ")[2][:8] for line in capsys.readouterr().out.splitlines()]
    assert said == ["epoch 1 ", "going on", "epoch 1 "]


def test_a_list_without_usable_urls_is_named() -> None:
    with pytest.raises(DataError, match="no language has 5 URLs outside of the excluded domains"):
        prepare([("https://a.example/", "eng")] * 4, [], set(), replace(TINY, least=5))
    with pytest.raises(DataError, match="only eng has 3 URLs"):
        prepare([(f"https://{n}.example/", "eng") for n in range(9)], [], set(), replace(TINY, least=3))


def test_an_evaluation_that_cannot_be_made_or_written_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "empty.tsv", "url lang")
    write_urls(tmp_path / "few.tsv")
    for options, message in (
        ("--model rules --data empty.tsv", "empty.tsv: no row"),
        ("--model rules --data few.tsv --least 9999", "few.tsv: no class has 9999 URLs; give --least 300 or lower"),
        ("--model rules --data few.tsv --json no/x.json", "there is no folder no"),
        ("--model none --data few.tsv", "config.json"),
        ("--model fasttext:none.bin --data few.tsv", "none.bin"),
    ):
        assert message in refused(capsys, evaluate.main, f"language {options}")


def test_an_epoch_that_fills_no_batch_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"--data {write_urls(tmp_path / 'few.tsv')} --out {tmp_path / 'model'} --epoch-size 64 --batch 128"
    assert "--epoch-size 64 fills no batch of 128" in refused(capsys, language.main, command)


def test_a_fold_may_have_no_domain(tmp_path: Path) -> None:
    recipe = replace(TINY, folds=9, fold_epochs=1, epoch_size=64)
    examples = prepare(few_urls(), [], set(), recipe)
    targets = cross_fit(CONFIG, encoded(examples), examples, recipe, tmp_path)
    assert np.array_equal(targets.rows([(url,) for url in examples.urls]) >= 0, examples.real > 0)


@pytest.mark.slow
def test_baselines_and_model_are_compared_in_one_run(
    tmp_path: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, other, out = Path(shutil.copy(trained.data, tmp_path)), Path(shutil.copy(trained.other, tmp_path)), tmp_path
    for name in ("PAPER", "TUNED"):
        monkeypatch.setattr(comparison, name, getattr(comparison, name) | {"bucket": 1000})
    command = f"--data {data} --synthetic {data} --test {other} --model {trained.model} --out {out} --threads 1".split()
    comparison.main(command)
    results = json.loads((out / "comparison.json").read_text())
    assert [name.partition(",")[0] for name in results][-4:-1] == ["fastText"] * 3
    assert results["shipped model"]["macro"]["f1"] > 0.95 > 0.1 > results["rules"]["macro"]["f1"]
    assert results["fastText, tuned"]["classes"]["mlt"]["support"] == 300
    baselines = set(out.glob("*.bin"))
    comparison.main(command)
    assert set(out.glob("*.bin")) == baselines
    lines = (out / "comparison.md").read_text().splitlines()
    assert len(lines) == 2 + len(results)
    assert lines[-1].startswith("| shipped model | 0.")
    # baselines of other data are others
    turned = {"eng": "mlt", "mlt": "eng"}
    rows = read_tsv(data, ("url", "lang", "source")).rows
    write_table(data, "url lang source", [(url, turned[lang], source) for url, lang, source in rows])
    comparison.main(command)
    assert json.loads((out / "comparison.json").read_text())["fastText, tuned"]["macro"]["f1"] < 0.1
    other.write_text(data.read_text())
    refused(capsys, comparison.main, command)
