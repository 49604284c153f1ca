"""A text is improved until it is good enough, a person looks at it, then it goes where the parameter says."""

from __future__ import annotations

from typing import Any


def draft(topic: str) -> str:
    return f"{topic} are great."


def improve(draft: str, ctx: Any) -> dict[str, Any]:
    """Runs until its `score` is high enough; `ctx.loop.iteration` counts from 1."""
    text = draft.replace("great", "very " * ctx.loop.iteration + "great")
    score = 40 + 20 * ctx.loop.iteration
    print(f"version {ctx.loop.iteration}: {text} (score {score})")
    return {"text": text, "score": score}


def publish(improve: dict[str, Any], sign_off: Any, ctx: Any) -> str:
    """`sign_off` is what came along with the approval, if anything did."""
    note = f"\n\nNote of the reviewer: {sign_off}" if sign_off else ""
    return f"published as {ctx.save_artifact('article.txt', improve['text'] + note)}"


def file_away(improve: dict[str, Any]) -> str:
    return f"kept for later: {improve['text']}"
