"""A teacher's probabilities for URLs or pairs of URLs, in one file for the training of students."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np
import torch
from rich.progress import track

from bilingual_crawler.storage.files import replacing
from training.common.data import DataError
from training.common.loop import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Teacher = Callable[[Sequence["Key"]], NDArray[np.float32]]
    """Probabilities [N, labels] of texts."""

KEPT = 8
SHARE = 0.5
CHUNK = 4096
Key = tuple[str, ...]
"""A URL, or two."""


@dataclass(frozen=True, slots=True)
class SoftLabels:
    """The most probable labels of each text: `keys` are sorted hashes, `top` [N, K] index `labels`."""

    labels: tuple[str, ...]
    keys: NDArray[np.uint64]
    top: NDArray[np.int16]
    probabilities: NDArray[np.float16]

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        texts: Sequence[Key],
        teacher: Teacher,
    ) -> SoftLabels:
        """Score each text once with a teacher."""
        if not texts:
            raise DataError("no example for the teacher to score")
        keys, first = np.unique(hashes(texts), return_index=True)
        chosen = [texts[i] for i in first]
        kept = min(KEPT, len(labels))
        top, probabilities = [], []
        for start in track(range(0, len(chosen), CHUNK), description="teacher"):
            found = teacher(chosen[start : start + CHUNK])
            best = np.argsort(-found, axis=1, kind="stable")[:, :kept]
            top.append(best.astype(np.int16))
            probabilities.append(np.take_along_axis(found, best, axis=1).astype(np.float16))
        return cls(tuple(labels), keys, np.concatenate(top), np.concatenate(probabilities))

    def save(self, path: Path) -> None:
        """Write a compressed .npz file, which appears when it is complete."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(
                file, labels=np.array(self.labels), keys=self.keys, top=self.top, probabilities=self.probabilities
            )

    @classmethod
    def load(cls, path: Path) -> SoftLabels:
        """Read a file of `save`; DataError if it is no such file."""
        try:
            with np.load(path) as file:
                return cls(tuple(file["labels"].tolist()), *(file[name] for name in ("keys", "top", "probabilities")))
        except (OSError, EOFError, BadZipFile, ValueError, KeyError) as error:
            raise DataError(f"{path}: not soft labels of training.distil: {error}") from error

    def rows(self, texts: Sequence[Key]) -> NDArray[np.int64]:
        """The row of each text; -1 if the teacher did not score it."""
        wanted = hashes(texts)
        places = np.searchsorted(self.keys, wanted).clip(max=len(self.keys) - 1)
        return np.where(self.keys[places] == wanted, places, -1)

    def probability(self, texts: Sequence[Key]) -> NDArray[np.float32]:
        """The probability [N] of the only label of each text; NaN if the teacher did not score it."""
        rows = self.rows(texts)
        found: NDArray[np.float32] = np.where(rows >= 0, self.probabilities[rows, 0], np.nan).astype(np.float32)
        return found


def hashes(texts: Sequence[Key]) -> NDArray[np.uint64]:
    """A hash of 64 bits of each text; the order of two URLs does not matter."""
    digests = (hashlib.blake2b("\t".join(sorted(text)).encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype="<u8")


def out_of_fold(teachers: Sequence[Teacher], folds: Mapping[Key, int]) -> Teacher:
    """A teacher that answers for each text with that one of several which did not see its fold."""

    def answer(texts: Sequence[Key]) -> NDArray[np.float32]:
        numbers = np.array([folds[text] for text in texts])
        rows, found = [], []
        for number in np.unique(numbers).tolist():
            own = np.flatnonzero(numbers == number)
            rows.append(own)
            found.append(teachers[number]([texts[i] for i in own.tolist()]))
        return np.concatenate(found)[np.argsort(np.concatenate(rows))]

    return answer


class Lesson:
    """Targets of the language student: the label, mixed with the mean of what teachers say if there are any."""

    def __init__(
        self,
        teachers: Sequence[SoftLabels],
        urls: Sequence[str],
        labels: NDArray[np.int64],
        names: Sequence[str],
        share: float,
    ) -> None:
        self.labels = torch.from_numpy(labels)
        self.names = len(names)
        self.share = share
        keys, index = [(url,) for url in urls], {name: i for i, name in enumerate(names)}
        # Labels that only a teacher has go into a last column, which is cut off.
        self.teachers = [
            (soft, soft.rows(keys), np.array([index.get(label, len(names)) for label in soft.labels]))
            for soft in teachers
        ]

    def __str__(self) -> str:
        known = ", ".join(str(np.count_nonzero(rows >= 0)) for _, rows, _ in self.teachers)
        return f"teachers' probabilities for {known} examples, {self.share:.0%} of their targets"

    def fingerprint(self) -> str:
        """A hash of what is said."""
        said = (part for soft, _, _ in self.teachers for part in (soft.top, soft.probabilities))
        return fingerprint(f"{self} {self.share}", *said)

    def targets(self, indices: NDArray[np.int64]) -> torch.Tensor:
        """Probabilities [B, names] of the examples at `indices`."""
        hard = torch.nn.functional.one_hot(self.labels[indices], self.names).float()
        said = torch.zeros(len(indices), self.names + 1)
        for soft, all_rows, columns in self.teachers:
            rows = all_rows[indices]
            probabilities = np.where((rows >= 0)[:, None], soft.probabilities[rows], 0)
            said.scatter_add_(1, torch.from_numpy(columns[soft.top[rows]]), torch.from_numpy(probabilities).float())
        said = said[:, :-1]
        mass = said.sum(1, keepdim=True)
        share = self.share * (mass > 0)
        return (1 - share) * hard + share * said / mass.clamp(min=1e-6)
