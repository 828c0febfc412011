"""Fine-tuning with the trainer of transformers: any number of devices, resumed from its last whole checkpoint."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.metrics import f1_score
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments

from training.common.scores import macro_f1
from training.transformer.base import load_model, load_tokenizer
from training.transformer.lists import TRAINED
from training.transformer.plan import PlannedSampler, growing
from training.transformer.recipes import RecipeError
from training.transformer.ship import rehearse

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor
    from transformers import EvalPrediction, PreTrainedTokenizerFast, TrainerControl, TrainerState

    from training.transformer.lists import Lists
    from training.transformer.plan import Plan
    from training.transformer.recipes import FineTuningRecipe

PRECISIONS = ("auto", "fp32", "bf16", "fp16")


class Collator:
    """Rows of a table as a padded batch of token ids with labels."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, kind: str, max_length: int) -> None:
        self.tokenizer = tokenizer
        self.kind = kind
        self.max_length = max_length

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        texts = [row["text"] for row in rows]
        batch = self.tokenizer(
            texts, truncation=True, max_length=self.max_length, padding="longest", return_tensors="pt"
        )
        labels = torch.tensor([row["label"] for row in rows])
        label = labels if self.kind == "language" else labels[:, None].float()
        return {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "labels": label}


class EpochEnds(TrainerCallback):
    """Evaluates and saves at the end of an epoch of the plan; also saves every *save_every* seconds."""

    def __init__(self, plan: Plan, save_every: float) -> None:
        self.ends = frozenset(plan.ends)
        self.save_every = save_every
        self.saved = time.monotonic()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        over = state.global_step in self.ends
        control.should_evaluate = over
        control.should_save = over or self._due(args.device)
        if control.should_save:
            self.saved = time.monotonic()

    def _due(self, device: torch.device) -> bool:
        due = torch.tensor(time.monotonic() - self.saved >= self.save_every, device=device)
        if torch.distributed.is_initialized():
            # all processes save together, by the clock of the first one
            torch.distributed.broadcast(due, 0)
        return bool(due)


class PlannedTrainer(Trainer):
    """A trainer whose examples come in the order of a plan."""

    def __init__(self, plan: Plan, lengths: NDArray[np.int32], **settings: Any) -> None:
        super().__init__(**settings)
        self.plan = plan
        self.lengths = lengths
        # The classifiers accept any keyword but average their loss themselves; otherwise it would be summed over
        # devices.
        self.model_accepts_loss_kwargs = False

    def _get_train_sampler(self, train_dataset: object = None) -> PlannedSampler:
        return PlannedSampler(self.plan, self.lengths)


def arguments_of(recipe: FineTuningRecipe, out: Path, precision: str, steps: int, warmup: int) -> TrainingArguments:
    """The recipe in the terms of transformers; RecipeError if the batch cannot be shared out."""
    if "WORLD_SIZE" not in os.environ and torch.cuda.device_count() > 1:
        raise RecipeError(
            f"{torch.cuda.device_count()} GPUs: start with torchrun --nproc-per-node {torch.cuda.device_count()} -m, "
            "or let one be seen (CUDA_VISIBLE_DEVICES=0)"
        )
    parts = int(os.environ.get("WORLD_SIZE", "1")) * recipe.accumulation
    if recipe.batch % parts:
        raise RecipeError(f"--batch {recipe.batch} cannot be cut into {parts} parts (devices x accumulation)")
    gpu = torch.cuda.is_available()
    if precision == "auto":
        precision = ("bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16") if gpu else "fp32"
    return TrainingArguments(
        output_dir=str(out),
        max_steps=steps,
        per_device_train_batch_size=recipe.batch // parts,
        per_device_eval_batch_size=256,
        gradient_accumulation_steps=recipe.accumulation,
        learning_rate=recipe.rate,
        weight_decay=recipe.decay,
        max_grad_norm=recipe.clip,
        lr_scheduler_type="inverse_sqrt",
        warmup_steps=warmup,
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        use_cpu=not gpu,
        eval_strategy="steps",
        eval_steps=steps,
        save_strategy="steps",
        save_steps=steps,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="macro_f1",
        restore_callback_states_from_checkpoint=True,
        logging_steps=50,
        report_to=["tensorboard"],
        seed=recipe.seed,
        remove_unused_columns=False,
        dataloader_num_workers=min(4, os.cpu_count() or 1) if gpu else 0,
        ddp_find_unused_parameters=False,
        ddp_timeout=7200,
    )


def last_checkpoint(out: Path) -> str | None:
    """The last complete checkpoint, if any. Incomplete ones are removed."""
    folders = sorted(out.glob("checkpoint-*"), key=lambda folder: int(folder.name.rpartition("-")[2]), reverse=True)
    for folder in folders:
        try:
            # The trainer writes this file last.
            json.loads((folder / "trainer_state.json").read_text())
        except (OSError, ValueError):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return str(folder)
    return None


def scores(kind: str, prediction: EvalPrediction) -> dict[str, float]:
    """Macro-F1: over labels with 30 rows or more, or over parallel and not parallel at probability .5."""
    logits, labels = np.asarray(prediction.predictions), np.asarray(prediction.label_ids)
    if kind == "language":
        return {"macro_f1": macro_f1(torch.from_numpy(logits), labels)}
    return {"macro_f1": float(f1_score(labels[:, 0] > 0.5, logits[:, 0] > 0, average="macro", zero_division=0))}


def fit(
    kind: str, lists: Lists, recipe: FineTuningRecipe, out: Path, precision: str
) -> tuple[NDArray[np.float32], list[dict[str, float]]]:
    """Fine-tune, or resume from the last checkpoint in `out`. The best network is written to `out/classifier`.

    Returns the logits of the development rows, and step, macro-F1 and loss after each epoch. A network already in
    `out/classifier` is only applied.
    """
    plan = growing(len(lists.train), recipe)
    first = plan.ends[0]
    arguments = arguments_of(recipe, out, precision, plan.ends[-1], max(1, round(recipe.warmup * first)))
    trained = out / TRAINED
    done = trained.exists()
    chosen = replace(recipe, base=str(trained), reinit=0) if done else recipe
    tokenizer = load_tokenizer(chosen)
    model = load_model(chosen, kind, lists.labels)
    with arguments.main_process_first(local=False):
        checkpoint = last_checkpoint(out)
        if arguments.process_index == 0 and not (done or checkpoint):
            rehearse(kind, model, tokenizer, recipe)
    trainer = PlannedTrainer(
        plan,
        lists.train.data.column("length").to_numpy(),
        model=model,
        args=arguments,
        data_collator=Collator(tokenizer, kind, recipe.max_length),
        train_dataset=lists.train,
        eval_dataset=lists.dev,
        processing_class=tokenizer,
        compute_metrics=partial(scores, kind),
        callbacks=[EpochEnds(plan, recipe.save_every), EarlyStoppingCallback(recipe.patience)],
    )
    if not done:
        trainer.train(resume_from_checkpoint=checkpoint)
        unfinished = trained.with_suffix(".part")
        trainer.save_model(str(unfinished))
        trainer.save_state()
        if trainer.is_world_process_zero():
            unfinished.rename(trained)
    logits = np.asarray(trainer.predict(lists.dev).predictions, dtype=np.float32)
    return logits, history(out / "trainer_state.json")


def history(state: Path) -> list[dict[str, float]]:
    """Step, macro-F1 and loss of each evaluation in a trainer's state."""
    log = json.loads(state.read_text())["log_history"]
    return [
        {"step": entry["step"], "macro_f1": entry["eval_macro_f1"], "loss": entry["eval_loss"]}
        for entry in log
        if "eval_macro_f1" in entry
    ]
