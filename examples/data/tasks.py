"""A small data flow: sales figures of some shops, measured in parallel, joined into a report."""

from __future__ import annotations

import asyncio
import random
from typing import Any


def load_shops(count: int) -> list[dict[str, Any]]:
    """Stands in for reading files or a database; the seed makes each run the same."""
    dice = random.Random(7)
    return [{"shop": f"shop-{number}", "sales": [dice.randint(10, 99) for _ in range(30)]} for number in range(count)]


async def load_rates() -> dict[str, float]:
    """Tasks may be coroutines, too."""
    await asyncio.sleep(0.1)
    return {"EUR": 1.0, "USD": 1.08}


def measure(shop: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """Runs once per shop, several at a time; `shop` is the loop variable."""
    total = 0
    for day, amount in enumerate(shop["sales"], 1):
        total += amount
        ctx.progress(100 * day / len(shop["sales"]))
    ctx.logger.info("%s sold %d", shop["shop"], total)
    return {"shop": shop["shop"], "total": total}


def report(load_rates: dict[str, float], currency: str, ctx: Any) -> dict[str, Any]:
    """`ctx.collected` holds what each iteration returned, in the order of the shops."""
    totals = ctx.collected["measure"]
    rate = load_rates[currency]
    rows = [f"{row['shop']},{row['total'] * rate:.2f}" for row in totals]
    ctx.save_artifact("report.csv", "\n".join([f"shop,{currency}", *rows]) + "\n")
    return {"currency": currency, "sum": round(sum(row["total"] for row in totals) * rate, 2)}


def best_shop(ctx: Any) -> str:
    best: dict[str, Any] = max(ctx.collected["measure"], key=lambda row: row["total"])
    return str(best["shop"])
