"""Check the starter with its adapter and ship the result with gistread.

Python -m research.training.check.
"""

import asyncio
from dataclasses import asdict

import orjson

from gistread.config import Config
from gistread.engine.models import STARTER, find_source, new_engine
from gistread.memory.check_results import SHIPPED
from gistread.memory.model_check import check_model
from gistread.paths import default_paths


async def main() -> None:
    engine = new_engine(find_source(STARTER), Config(), default_paths())
    fingerprint = (await engine.start()).fingerprint
    result = await check_model(engine)
    await engine.close()
    SHIPPED.write_bytes(
        orjson.dumps(
            {"fingerprint": fingerprint, "verdict": asdict(result)},
            option=orjson.OPT_INDENT_2,
        )
    )
    print(result.line)


if __name__ == "__main__":
    asyncio.run(main())
