extension Report {
    /// Follows the reader's light or dark setting.
    static let style = """
        :root { color-scheme: light dark; --paper: #fff; --ink: #1b1d22; --faded: #646a75; --line: #d9dce2;
            --card: #f5f6f8; --good: #00694f; --bad: #a63c00; }
        @media (prefers-color-scheme: dark) { :root { --paper: #15171b; --ink: #e4e6ea; --faded: #9aa1ad; --line: #353a43;
            --card: #1e2127; --good: #3fc79b; --bad: #ff9a5c; } }
        body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif;
            max-width: 75rem; margin: 2.5rem auto; padding: 0 1.25rem; }
        h1 { font-size: 1.6rem; margin: 0 0 1rem; } h2 { font-size: 1.15rem; margin: 2.25rem 0 .6rem; }
        dl { background: var(--card); border-radius: 8px; padding: .8rem 1rem; margin: 0; }
        dl div { display: flex; gap: 1rem; } dt { color: var(--faded); flex: 0 0 6rem; } dd { margin: 0; }
        .scroll { overflow-x: auto; } figure { margin: 0; } svg { display: block; width: 860px; max-width: none; height: auto; }
        table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
        th, td { padding: .35rem .7rem; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top;
            white-space: nowrap; }
        thead th, tbody th { font-weight: 600; } tbody th { text-align: left; } small { display: block; color: var(--faded);
            font-size: .75rem; font-weight: 400; }
        .note { color: var(--faded); font-size: .85rem; max-width: 52rem; } .overall { background: var(--card); }
        td.better { color: var(--good); } td.worse { color: var(--bad); }
        .trouble { border-left: 4px solid var(--bad); background: var(--card); padding: .5rem 1rem; margin: 1rem 0; }
        .trouble p { margin: .2rem 0; white-space: pre-wrap; }
        """

    static let method = """
        <ul>
        <li>Host and viewer run as separate processes, encrypted, and paired before anything is timed. \
        On one machine they use the loopback interface.</li>
        <li>Latency begins when the source has a picture and ends in the window, or in a viewer without a window with the \
        decoded picture. Every picture carries its capture time. If only the time to its arrival and the decoding \
        are known, latency is their sum. Host and viewer report median, 95th percentile and maximum of each stage every second: \
        the figures are the medians of those, and the greatest maximum, without the start.</li>
        <li>A still picture is sent again in higher quality, so more frames may arrive than the source makes.</li>
        <li>Frames and bit rate are the viewer's, from its first second to its last. Lost: datagrams that never arrived, \
        in percent.</li>
        <li>Pictures are compared in a separate short pass, so that this doesn't disturb the timing: luma, against the \
        original, which is rendered again from the number in the picture (or found in the recording). As many \
        pictures as there is time for are compared, except those of the first half second. PSNR has a peak of 255 and is computed \
        from the mean squared error; 100 dB stands for identical. SSIM follows Wang et al. (2004) with uniform windows \
        of 8 × 8, 4 apart.</li>
        <li>The sound's latency, buffer and concealed share are the viewer's, which plays it without a loudspeaker. Its step with \
        the picture is read from a recording of its own, made by the viewer: each burst of the pattern's sound carries the \
        number of the picture with which it begins. Its times are rounded to 1 ms.</li>
        <li>Processor time and peak memory are the kernel's, for each process. The host's include the source's.</li>
        </ul>
        """
}
