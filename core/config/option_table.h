#pragma once

/// Every MEGASCOPE_* variable, once. The typed values, the parser, `megascope info`,
/// docs/configuration.md and the dump beside each trace all come from here. A new option is a new
/// row, and nothing else.

// clang-format off: rows read better as rows

// The words a choice accepts, as enumerator and text; the first one is not special.
#define MEGASCOPE_BUFFER_POLICIES(X) X(kStop, "stop") X(kFlight, "flight")
#define MEGASCOPE_CLOCKS(X) X(kAuto, "auto") X(kTsc, "tsc") X(kMonotonic, "monotonic")
#define MEGASCOPE_REPORT_STYLES(X) X(kFull, "full") X(kShort, "short") X(kOff, "off")
#define MEGASCOPE_GRANULARITIES(X) X(kCalls, "calls") X(kBase, "base") X(kFull, "full")
#define MEGASCOPE_CONTROLS(X) X(kAuto, "auto") X(kOn, "on") X(kOff, "off")
#define MEGASCOPE_LIVE_CONTROLS(X) X(kOff, "off") X(kAllow, "allow")
#define MEGASCOPE_OTF2_INTERCOMMS(X) X(kIntercomm, "intercomm") X(kComm, "comm")
#define MEGASCOPE_EXPORT_FORMATS(X) \
  X(kOtf2, "otf2") X(kPerfetto, "perfetto") X(kChrome, "chrome") X(kNone, "none")

// X(member, type, name, default, empty_default, accepts, unit, help, example)
//   member, type   of `Options`: Path, SizeBytes, Count, Seconds, Names (a list), Items (a list of
//   any
//                  words), Port, bool, or an enum of choices above
//   default        as a user would write it; empty_default says what an empty one means
//   accepts        Accepts::anything(), range(least, most), count(least, most), words(choices),
//                  list(choices), items(what), seconds(most), port(), on_off()
//   help           one sentence; example: a value that makes sense
#define MEGASCOPE_OPTIONS(X)                                                                       \
  X(enable, bool, "MEGASCOPE_ENABLE", "1", "", Accepts::on_off(), "",                              \
    "Records when on; when off the library is loaded but records nothing and writes nothing.",     \
    "0")                                                                                           \
  X(out, Path, "MEGASCOPE_OUT", "",                                                                \
    "megascope-<job.step> under Slurm, else megascope-<host>-<pid>", Accepts::anything(), "",      \
    "The run folder, made in rank 0's working directory; an existing one is never overwritten "    \
    "(-2, -3, ...). Neither group nor others can write to it, whatever the umask.",                \
    "results/trace")                                                                               \
  X(scratch, Path, "MEGASCOPE_SCRATCH", "",                                                        \
    "a local disk, else /dev/shm, chosen by the type of the file system", Accepts::anything(), "", \
    "Directory on each node for the buffers while the program runs; should be local to the node. " \
    "btrfs and zfs are local disks, on which a kill loses up to 1 MiB a thread. A directory in "   \
    "memory is named in the line at start.",                                                       \
    "/local/scratch")                                                                              \
  X(buffer_size_bytes, SizeBytes, "MEGASCOPE_BUFFER_SIZE", "1G", "",                               \
    Accepts::range(1ULL << 20, 1ULL << 40), "bytes",                                               \
    "Most that is kept for each rank; K, M, G and T are powers of 1024. Recording stops earlier "  \
    "where less than 5 % of the file system would stay free, at least 1 GiB and at most 16 GiB "   \
    "(an eighth of a file system below 8 GiB). In memory all ranks of a node together take a "     \
    "sixteenth of what is available to the node and the memory cgroup.",                           \
    "4G")                                                                                          \
  X(buffer_policy, BufferPolicy, "MEGASCOPE_BUFFER_POLICY", "stop", "",                            \
    Accepts::words(MEGASCOPE_BUFFER_POLICIES(MEGASCOPE_CHOICE_TEXT)), "",                          \
    "What a full buffer does: stop keeps the oldest calls, flight keeps the newest; losses are "   \
    "counted.",                                                                                    \
    "flight")                                                                                      \
  X(exports, Names, "MEGASCOPE_EXPORT", "",                                                        \
    "otf2,perfetto up to 64 ranks and 1 GiB of native trace, else none",                           \
    Accepts::list(MEGASCOPE_EXPORT_FORMATS(MEGASCOPE_CHOICE_TEXT)), "",                            \
    "Formats written when the program ends, as a list. An explicit list is always obeyed.",        \
    "otf2+chrome")                                                                                 \
  X(otf2_intercomm, Otf2Intercomm, "MEGASCOPE_OTF2_INTERCOMM", "intercomm", "",                    \
    Accepts::words(MEGASCOPE_OTF2_INTERCOMMS(MEGASCOPE_CHOICE_TEXT)), "",                          \
    "How OTF2 archives define intercommunicators, at exit and by `megascope export`: as such, or " \
    "as communicators of both groups, which python3-otf2 3.0.2 can read.",                         \
    "comm")                                                                                        \
  X(report, ReportStyle, "MEGASCOPE_REPORT", "full", "",                                           \
    Accepts::words(MEGASCOPE_REPORT_STYLES(MEGASCOPE_CHOICE_TEXT)), "",                            \
    "What is printed on rank 0's stderr at the end; the whole report is in the run folder in any " \
    "case.",                                                                                       \
    "short")                                                                                       \
  X(mpi, Items, "MEGASCOPE_MPI", "",                                                               \
    "every function but handle conversions, MPI_Wtime, MPI_Wtick and MPI_T_*",                     \
    Accepts::items(                                                                                \
        "a list of functions (MPI_Iprobe, MPI_Test*), groups (p2p, coll, ...; `megascope info` "   \
        "lists them), all, none, default"),                                                        \
    "",                                                                                            \
    "MPI functions that are recorded, as a list of functions and groups; one with - in front is "  \
    "left "                                                                                        \
    "out. With - first, the rest is as by default.",                                               \
    "-MPI_Iprobe+-MPI_Test*")                                                                      \
  X(call_sites, bool, "MEGASCOPE_CALLSITE", "0", "", Accepts::on_off(), "",                        \
    "Records from where in the program each call was made, for the report and the traces: "        \
    "function, file "                                                                              \
    "and line where there is debug information. Costs 8 bytes and some ns more a call.",           \
    "1")                                                                                           \
  X(trace, Granularity, "MEGASCOPE_TRACE", "base", "",                                             \
    Accepts::words(MEGASCOPE_GRANULARITIES(MEGASCOPE_CHOICE_TEXT)), "",                            \
    "How much is recorded: calls (of MPI), base (and steps, regions, counters and marks that the " \
    "program tells), full (and the tensors that it shows: name, kind, type and shape).",           \
    "full")                                                                                        \
  X(cpu_time, bool, "MEGASCOPE_CPU_TIME", "1", "", Accepts::on_off(), "",                          \
    "Threads read their CPU time, how long they waited for a core, and how often they lost it: "   \
    "where steps begin and end, and three times in 30 ms around calls of MPI. Some us each, at "   \
    "most 0.05 % of the time.",                                                                    \
    "0")                                                                                           \
  X(step_start, Count, "MEGASCOPE_STEP_START", "0", "", Accepts::count(0, 1ULL << 62), "",         \
    "The first step that is recorded, by the program's own number (megascope_step_begin). Step s " \
    "is recorded if s >= START and (s - START) mod INTERVAL < COUNT; of others only the report's " \
    "sums are kept, and so of what comes before the first step.",                                  \
    "100")                                                                                         \
  X(step_interval, Count, "MEGASCOPE_STEP_INTERVAL", "1", "", Accepts::count(1, 1ULL << 62), "",   \
    "From each beginning of recorded steps to the next, in steps.", "50")                          \
  X(step_count, Count, "MEGASCOPE_STEP_COUNT", "1", "", Accepts::count(1, 1ULL << 62), "",         \
    "How many steps in a row are recorded.", "3")                                                  \
  X(parallel, Items, "MEGASCOPE_PARALLEL", "", "as the program tells it, or not at all",           \
    Accepts::items("a list of <name>=<size>, and order=<name>-<name>-...: the dimension named "    \
                   "first changes fastest with the rank"),                                         \
    "",                                                                                            \
    "The parallel groups of the program, from the sizes of their dimensions, whose product is "    \
    "the number of ranks. What the program tells itself counts more.",                             \
    "tp=2+pp=2+dp=2+order=tp-dp-pp")                                                               \
  X(tensors, Items, "MEGASCOPE_TENSORS", "", "none",                                               \
    Accepts::items("a list of names of tensors, in which * stands for any characters, each with "  \
                   "@ and a kind behind it where only that is meant"),                             \
    "",                                                                                            \
    "Tensors of which statistics are recorded as counters whenever the program shows them: "       \
    "count, NaN, infinite, smallest, largest, mean and norm. They are computed inside the "        \
    "program's call.",                                                                             \
    "*.weight+loss+*@grad_reduced")                                                                \
  X(control, Control, "MEGASCOPE_CONTROL", "auto", "",                                             \
    Accepts::words(MEGASCOPE_CONTROLS(MEGASCOPE_CHOICE_TEXT)), "",                                 \
    "Whether all ranks talk when a step of the program begins: their statistics are merged, and "  \
    "what is decided takes effect on all at the same step. auto: where MEGASCOPE_TENSORS asks "    \
    "for statistics.",                                                                             \
    "on")                                                                                          \
  X(step_wait, Seconds, "MEGASCOPE_STEP_WAIT", "1", "", Accepts::seconds(86400), "seconds",        \
    "How long a rank waits for the others where a step begins that needs to know what was "        \
    "decided two steps before. One whose time runs out decides no more with them, and says so.",   \
    "0.2")                                                                                         \
  X(nan_steps, Count, "MEGASCOPE_NAN_STEPS", "0", "", Accepts::count(0, 1ULL << 62), "",           \
    "How many steps all ranks record, whatever MEGASCOPE_STEP_START and its like choose, once a "  \
    "tensor of MEGASCOPE_TENSORS has a NaN or infinite element on any of them. Once a run.",       \
    "5")                                                                                           \
  X(live, Port, "MEGASCOPE_LIVE", "off", "", Accepts::port(), "",                                  \
    "Rank 0 serves the running job to browsers on this port of its own machine's loopback "        \
    "interface; its address is printed at start, with the token that it takes where standard "     \
    "error is a terminal. `live_url` in the run directory has both. 0: any port that is free.",    \
    "8765")                                                                                        \
  X(live_hosts, Items, "MEGASCOPE_LIVE_HOSTS", "", "localhost, 127.0.0.1 and [::1]",               \
    Accepts::items("a list of names of hosts, with or without port"), "",                          \
    "By which names beside those of the loopback interface browsers may ask for it, as behind a "  \
    "tunnel or a proxy.",                                                                          \
    "login1.example.org")                                                                          \
  X(live_compat, Port, "MEGASCOPE_LIVE_COMPAT", "off", "", Accepts::port(), "",                    \
    "Where MEGASCOPE_LIVE is on: the port of the loopback interface on which clients of "          \
    "MegatronApp and of Megatron's tensor tracer are served as well. It takes no token, so that "  \
    "every user of that machine can read it. 0: any port that is free.",                           \
    "5000")                                                                                        \
  X(live_guest_rate, SizeBytes, "MEGASCOPE_LIVE_GUEST_RATE", "4M", "",                             \
    Accepts::range(1ULL << 16, 1ULL << 40), "bytes a second",                                      \
    "What clients of MEGASCOPE_LIVE_COMPAT, which show no token, get at most, all of them "        \
    "together. Beyond it they get fewer updates, the newest of each tensor.",                      \
    "16M")                                                                                         \
  X(live_guest_cpu, Count, "MEGASCOPE_LIVE_GUEST_CPU", "5", "", Accepts::count(1, 100),            \
    "percent of a core",                                                                           \
    "The CPU time that the live view's thread spends on these clients at most, all of them "       \
    "together.",                                                                                   \
    "20")                                                                                          \
  X(live_control, LiveControl, "MEGASCOPE_LIVE_CONTROL", "off", "",                                \
    Accepts::words(MEGASCOPE_LIVE_CONTROLS(MEGASCOPE_CHOICE_TEXT)), "",                            \
    "Whether clients of the live view may ask the program to do something, as to generate a "      \
    "text; only a program that polls for such requests does.",                                     \
    "allow")                                                                                       \
  X(live_vectors, Path, "MEGASCOPE_LIVE_VECTORS", "", "none can be read", Accepts::anything(), "", \
    "The folder of the .npy files that clients of MEGASCOPE_LIVE_COMPAT may name as vectors of a " \
    "projection.",                                                                                 \
    "vectors")                                                                                     \
  X(without_mpi, bool, "MEGASCOPE_WITHOUT_MPI", "0", "", Accepts::on_off(), "",                    \
    "Records from the program's first hook on, though an MPI library is loaded: for programs "     \
    "that never start it. Without one that is so anyhow.",                                         \
    "1")                                                                                           \
  X(clock, ClockChoice, "MEGASCOPE_CLOCK", "auto", "",                                             \
    Accepts::words(MEGASCOPE_CLOCKS(MEGASCOPE_CHOICE_TEXT)), "",                                   \
    "Source of time: auto takes the TSC where it is invariant, else CLOCK_MONOTONIC.",             \
    "monotonic")                                                                                   \
  X(sync_interval, Seconds, "MEGASCOPE_SYNC_INTERVAL", "10", "", Accepts::seconds(86400),          \
    "seconds",                                                                                     \
    "How often ranks whose clocks differ compare them, besides start and end: in MPI_Barrier, "    \
    "MPI_Allreduce, "                                                                              \
    "MPI_Allgather and MPI_Alltoall on MPI_COMM_WORLD. 0: at start and end only.",                 \
    "60")                                                                                          \
  X(test_clock, Items, "MEGASCOPE_TEST_CLOCK", "", "every rank's clock as it is",                  \
    Accepts::items("a list of <rank>/<offset_ns>/<drift_ppm>[/<jitter_ns>]"), "",                  \
    "Makes clocks wrong, to test what corrects them: each rank takes CLOCK_MONOTONIC, off by "     \
    "what the list says "                                                                          \
    "of it, for a clock that it shares with nobody.",                                              \
    "1/1000000000/100+2/-5000000/-50")                                                             \
  X(all_ranks, bool, "MEGASCOPE_ALL_RANKS", "0", "", Accepts::on_off(), "",                        \
    "Vouches that every rank has loaded the library, where that cannot be asked; if that is "      \
    "wrong the job can hang.",                                                                     \
    "1")                                                                                           \
  X(strict, bool, "MEGASCOPE_STRICT", "0", "", Accepts::on_off(), "",                              \
    "Makes a bad or unknown option end the program at start instead of being replaced by its "     \
    "default.",                                                                                    \
    "1")                                                                                           \
  X(verbose, bool, "MEGASCOPE_VERBOSE", "0", "", Accepts::on_off(), "",                            \
    "Says on stderr what is done and why.", "1")

// clang-format on
