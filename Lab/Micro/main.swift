import Benchmark

// `Scripts/bench micro`: times and allocations of the hot paths.
BenchmarkColumn.registerAllocations()
Benchmark.main(
    [
        sessionSuite(), paritySuite(), loopbackSuite(), conversionSuite(), comparisonSuite(), planeSuite(),
        codecSuite(), patchSuite(),
    ],
    customDefaults: defaultSettings + [
        // Until the buffers have reached their sizes.
        WarmupIterations(150), MinTime(seconds: 1),
        Columns(["name", "time", "p95", "iterations", "datagrams", "bytes", "allocations"]),
    ])
