"""Checks the starter with its adapter, and writes the result that is shipped with gistread.

python -m research.training.check
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
    info = await engine.start()
    result = await check_model(engine)
    await engine.close()
    document = {"fingerprint": info.fingerprint, "verdict": asdict(result)}
    SHIPPED.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    print(result.line)


if __name__ == "__main__":
    asyncio.run(main())
