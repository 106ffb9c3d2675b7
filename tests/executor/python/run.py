"""Runs every *_test.py of this folder and ends with the count of test cases, as `podium test` does."""

import os
import sys
import unittest


def main() -> int:
    folder = os.path.dirname(os.path.abspath(__file__))
    pattern = sys.argv[1] if len(sys.argv) > 1 else "*_test.py"
    suite = unittest.defaultTestLoader.discover(folder, pattern=pattern)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0, warnings="ignore").run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = result.testsRun - failed - len(result.skipped)
    print(f"{passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
