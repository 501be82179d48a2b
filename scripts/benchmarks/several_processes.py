"""Steps of training by the processes that `torchrun` has started; the first prints what each step has measured.

Arguments: the sizes, how many steps, the threads of each process.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.reference import Sizes, reference_trainer
from transformer_mt.distributed import join_processes


def main() -> None:
    """Print the target tokens a second of each step as JSON."""
    sizes, steps, threads = Sizes(**json.loads(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder, join_processes() as distributed:
        trainer = reference_trainer(sizes, Path(folder), distributed=distributed)
        rates = []
        for _ in range(steps):
            start = time.perf_counter()
            report = trainer.step()
            if trainer.device.type == "cuda":
                torch.cuda.synchronize()
            rates.append(report.target_tokens / (time.perf_counter() - start))
        if distributed.is_main:
            print(json.dumps(rates), flush=True)


if __name__ == "__main__":
    main()
