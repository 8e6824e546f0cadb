import Benchmark

// Times of the hot paths, and what they allocate: `Scripts/bench micro`.
BenchmarkColumn.registerAllocations()
Benchmark.main(
    [
        sessionSuite(), paritySuite(), loopbackSuite(), conversionSuite(), planeSuite(), codecSuite(),
    ],
    customDefaults: defaultSettings + [
        // Buffers have found their sizes by then.
        WarmupIterations(150), MinTime(seconds: 1),
        Columns(["name", "time", "p95", "iterations", "datagrams", "allocations"]),
    ])
