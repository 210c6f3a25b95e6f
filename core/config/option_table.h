#pragma once

/// The table of all MEGASCOPE_* variables. The typed values, the parser, `megascope info`,
/// docs/configuration.md and options.sh in each run directory are generated from it. A new option
/// needs one new row and nothing else.

// clang-format off: rows read better as rows

// The accepted words of each choice: enumerator and text. The order has no meaning.
#define MEGASCOPE_BUFFER_POLICIES(X) X(kStop, "stop") X(kFlight, "flight")
#define MEGASCOPE_CLOCKS(X) X(kAuto, "auto") X(kTsc, "tsc") X(kMonotonic, "monotonic")
#define MEGASCOPE_REPORT_STYLES(X) X(kFull, "full") X(kShort, "short") X(kOff, "off")
#define MEGASCOPE_GRANULARITIES(X) X(kCalls, "calls") X(kBase, "base") X(kFull, "full")
#define MEGASCOPE_CONTROLS(X) X(kAuto, "auto") X(kOn, "on") X(kOff, "off")
#define MEGASCOPE_LIVE_CONTROLS(X) X(kOff, "off") X(kAllow, "allow")
#define MEGASCOPE_OTF2_INTERCOMMS(X) X(kIntercomm, "intercomm") X(kComm, "comm")

// X(member, type, name, default, empty_default, accepts, unit, help, example)
//   member, type   of `Options`. Types: Path, SizeBytes, Count, Seconds, Names (a list of choices),
//                  Items (a list of arbitrary words), Port, bool, or an enum of choices above.
//   default        in the form that a user would write; empty_default describes an empty default
//   accepts        Accepts::anything(), range(min, max), range_or(min, max, word),
//                  count(min, max), unlimited(min), words(choices), list(choices), items(text),
//                  seconds(max), port(), on_off()
//   help           what the option does, in complete sentences
//   example        a value that is accepted and useful
#define MEGASCOPE_OPTIONS(X)                                                                       \
  X(enable, bool, "MEGASCOPE_ENABLE", "1", "", Accepts::on_off(), "",                              \
    "Enables recording. With 0 the library is loaded, but records nothing and writes no files.",   \
    "0")                                                                                           \
  X(out, Path, "MEGASCOPE_OUT", "",                                                                \
    "megascope-<job.step> under Slurm, else megascope-<host>-<pid>", Accepts::anything(), "",      \
    "The run directory. Rank 0 creates it; a relative path is relative to rank 0's working "       \
    "directory. An existing directory is never overwritten: a suffix -2, -3, ... is appended "     \
    "instead. The directory is never writable by group or others, regardless of the umask.",       \
    "results/trace")                                                                               \
  X(scratch, Path, "MEGASCOPE_SCRATCH", "",                                                        \
    "a local disk, else /dev/shm, chosen by file system type", Accepts::anything(), "",            \
    "The directory on each node that holds the event buffers while the program runs. It should "   \
    "be local to the node. btrfs and zfs count as local disks; on them a killed process loses "    \
    "up to 1 MiB a thread. The line printed at start states when the directory is in memory.",     \
    "/local/scratch")                                                                              \
  X(buffer_size_bytes, SizeBytes, "MEGASCOPE_BUFFER_SIZE", "1G", "",                               \
    Accepts::range_or(1ULL << 20, 1ULL << 40, "auto"), "bytes",                                    \
    "The maximum size of a rank's trace. K, M, G and T are powers of 1024. auto: the ranks of a "  \
    "node share half of what is free on the file system of their buffers. Recording stops "        \
    "earlier when less than 5 % of the file system would stay free; this reserve is at least 1 "   \
    "GiB and at most 16 GiB (one eighth of a file system smaller than 8 GiB). On a file system "   \
    "in memory, all ranks of a node together use at most one sixteenth of the available memory: "  \
    "of the smaller of what the node and what the memory cgroup have left.",                       \
    "4G")                                                                                          \
  X(buffer_policy, BufferPolicy, "MEGASCOPE_BUFFER_POLICY", "stop", "",                            \
    Accepts::words(MEGASCOPE_BUFFER_POLICIES(MEGASCOPE_CHOICE_TEXT)), "",                          \
    "The policy when the buffer is full: stop keeps the oldest records, flight keeps the "         \
    "newest. Dropped records are counted.",                                                        \
    "flight")                                                                                      \
  X(exports, Names, "MEGASCOPE_EXPORT", "",                                                        \
    "otf2,perfetto up to 64 ranks and 1 GiB of unpacked trace, else none",                         \
    Accepts::list(MEGASCOPE_FORMATS_AT_EXIT(MEGASCOPE_FORMAT_TEXT) "none|"), "",                   \
    "The formats to write in MPI_Finalize. An explicit list applies to runs of any size. "         \
    "Unpacked trace: the native traces of all ranks as they would be without packing, 16 to 40 "   \
    "bytes a call; `megascope info TRACE` prints this size.",                                      \
    "otf2+chrome")                                                                                 \
  X(otf2_intercomm, Otf2Intercomm, "MEGASCOPE_OTF2_INTERCOMM", "intercomm", "",                    \
    Accepts::words(MEGASCOPE_OTF2_INTERCOMMS(MEGASCOPE_CHOICE_TEXT)), "",                          \
    "How OTF2 archives define intercommunicators, at exit and in `megascope export`: as "          \
    "intercommunicators, or as communicators over both groups, which python3-otf2 3.0.2 can "      \
    "read.",                                                                                       \
    "comm")                                                                                        \
  X(report, ReportStyle, "MEGASCOPE_REPORT", "full", "",                                           \
    Accepts::words(MEGASCOPE_REPORT_STYLES(MEGASCOPE_CHOICE_TEXT)), "",                            \
    "How much of the report rank 0 prints on standard error at the end of the run. The run "       \
    "directory always contains the full report.",                                                  \
    "short")                                                                                       \
  X(mpi, Items, "MEGASCOPE_MPI", "",                                                               \
    "all functions except handle conversions, MPI_Wtime, MPI_Wtick and MPI_T_*",                   \
    Accepts::items(                                                                                \
        "a list of functions (MPI_Iprobe, MPI_Test*), groups (p2p, coll, ...; `megascope info` "   \
        "lists them), all, none, default"),                                                        \
    "",                                                                                            \
    "The MPI functions to record, as a list of functions and groups. A leading - excludes an "     \
    "entry. If the first entry is an exclusion, the list starts from the default selection.",      \
    "-MPI_Iprobe+-MPI_Test*")                                                                      \
  X(call_sites, bool, "MEGASCOPE_CALLSITE", "0", "", Accepts::on_off(), "",                        \
    "Records the call site of each MPI call for the report and the traces: function, and file "    \
    "and line where debug information is available. Adds 8 bytes and a few ns to each call.",      \
    "1")                                                                                           \
  X(trace, Granularity, "MEGASCOPE_TRACE", "base", "",                                             \
    Accepts::words(MEGASCOPE_GRANULARITIES(MEGASCOPE_CHOICE_TEXT)), "",                            \
    "The level of detail. calls: MPI calls. base: also annotated steps, regions, counters and "    \
    "marks. full: also the name, kind, type and shape of each tensor that the program passes.",    \
    "full")                                                                                        \
  X(cpu_time, bool, "MEGASCOPE_CPU_TIME", "1", "", Accepts::on_off(), "",                          \
    "Reads each thread's CPU time, time spent waiting for a core, and involuntary context "        \
    "switches. A reading is taken when a step begins or ends. Around MPI calls, readings "         \
    "are taken in groups of three: when a call returns, when the next call begins, and when "      \
    "that call returns. Between two groups pass at least 30 ms. A reading takes about 1 us; "      \
    "all together take at most 0.05 % of the run time.",                                           \
    "0")                                                                                           \
  X(step_start, Count, "MEGASCOPE_STEP_START", "0", "", Accepts::unlimited(0), "",                 \
    "The first step to record, by the number passed to megascope_step_begin. Step s is recorded "  \
    "if s >= START and (s - START) mod INTERVAL < COUNT. Other steps, and the time before the "    \
    "first step, contribute only to the sums in the report.",                                      \
    "100")                                                                                         \
  X(step_interval, Count, "MEGASCOPE_STEP_INTERVAL", "1", "", Accepts::unlimited(1), "",           \
    "The distance, in steps, between the starts of two consecutive windows of recorded steps.",    \
    "50")                                                                                          \
  X(step_count, Count, "MEGASCOPE_STEP_COUNT", "1", "", Accepts::unlimited(1), "",                 \
    "The number of consecutive steps in each window of recorded steps.", "3")                      \
  X(parallel, Items, "MEGASCOPE_PARALLEL", "", "as annotated by the program, else no groups",      \
    Accepts::items("a list of <name>=<size>, and order=<name>-<name>-...: the dimension listed "   \
                   "first varies fastest with the rank"),                                          \
    "",                                                                                            \
    "The program's parallel groups, given as the sizes of their dimensions. The product of the "   \
    "sizes must be the number of ranks. Groups that the program annotates itself take "            \
    "precedence.",                                                                                 \
    "tp=2+pp=2+dp=2+order=tp-dp-pp")                                                               \
  X(tensors, Items, "MEGASCOPE_TENSORS", "", "none",                                               \
    Accepts::items("a list of tensor names, in which * matches any characters; append @<kind> to " \
                   "select tensors of one kind only"),                                             \
    "",                                                                                            \
    "The tensors for which statistics are recorded as counters each time the program passes "      \
    "them to megascope_tensor: count, NaN, infinite, minimum, maximum, mean and norm. The "        \
    "statistics are computed inside that call.",                                                   \
    "*.weight+loss+*@grad_reduced")                                                                \
  X(control, Control, "MEGASCOPE_CONTROL", "auto", "",                                             \
    Accepts::words(MEGASCOPE_CONTROLS(MEGASCOPE_CHOICE_TEXT)), "",                                 \
    "Whether all ranks exchange data at the beginning of each annotated step. The exchange "       \
    "merges tensor statistics over all ranks and makes decisions take effect on all ranks at "     \
    "the same step. auto: on if MEGASCOPE_TENSORS or MEGASCOPE_LIVE is set.",                      \
    "on")                                                                                          \
  X(step_wait, Seconds, "MEGASCOPE_STEP_WAIT", "1", "", Accepts::seconds(86400), "seconds",        \
    "The longest time that a rank waits, at the beginning of a step, for the exchange that was "   \
    "started two steps earlier. A rank whose time runs out prints a message and takes no "         \
    "further part in decisions.",                                                                  \
    "0.2")                                                                                         \
  X(nan_steps, Count, "MEGASCOPE_NAN_STEPS", "0", "", Accepts::unlimited(0), "",                   \
    "The number of steps that all ranks record after a tensor selected by MEGASCOPE_TENSORS has "  \
    "a NaN or infinite element on any rank. These steps are recorded even if "                     \
    "MEGASCOPE_STEP_START, _INTERVAL and _COUNT exclude them. This happens at most once a run. "   \
    "0 disables it.",                                                                              \
    "5")                                                                                           \
  X(live, Port, "MEGASCOPE_LIVE", "off", "", Accepts::port(), "",                                  \
    "The port on which rank 0 serves the live view of the running job to browsers, on the "        \
    "loopback interface of its node. The address is printed at start; the access token is "        \
    "printed with it only if standard error is a terminal. The file `live_url` in the run "        \
    "directory contains both. 0 selects a free port.",                                             \
    "8765")                                                                                        \
  X(live_hosts, Items, "MEGASCOPE_LIVE_HOSTS", "", "localhost, 127.0.0.1 and [::1]",               \
    Accepts::items("a list of host names, with or without port"), "",                              \
    "Host names, in addition to those of the loopback interface, under which browsers may "        \
    "request the live view. Set it when the view is reached through a tunnel or a proxy.",         \
    "login1.example.org")                                                                          \
  X(live_compat, Port, "MEGASCOPE_LIVE_COMPAT", "off", "", Accepts::port(), "",                    \
    "The port of the loopback interface on which clients of MegatronApp and of Megatron's "        \
    "tensor tracer are served. It requires MEGASCOPE_LIVE. No token is needed on this port, so "   \
    "every user of the node can read it. 0 selects a free port.",                                  \
    "5000")                                                                                        \
  X(live_unauthenticated_rate, SizeBytes, "MEGASCOPE_LIVE_GUEST_RATE", "4M", "",                   \
    Accepts::range(1ULL << 16, 1ULL << 40), "bytes a second",                                      \
    "The maximum data rate of all clients of MEGASCOPE_LIVE_COMPAT together, which are not "       \
    "authenticated. Above this rate they receive fewer updates: the newest one of each tensor.",   \
    "16M")                                                                                         \
  X(live_unauthenticated_cpu, Count, "MEGASCOPE_LIVE_GUEST_CPU", "5", "", Accepts::count(1, 100),  \
    "percent of a core",                                                                           \
    "The maximum CPU time that the live view's thread spends on all clients of "                   \
    "MEGASCOPE_LIVE_COMPAT together.",                                                             \
    "20")                                                                                          \
  X(live_control, LiveControl, "MEGASCOPE_LIVE_CONTROL", "off", "",                                \
    Accepts::words(MEGASCOPE_LIVE_CONTROLS(MEGASCOPE_CHOICE_TEXT)), "",                            \
    "Whether clients of the live view may send requests to the program, for example to generate "  \
    "a text. Only a program that polls for such requests answers them.",                           \
    "allow")                                                                                       \
  X(live_vectors, Path, "MEGASCOPE_LIVE_VECTORS", "", "no files can be read", Accepts::anything(), \
    "",                                                                                            \
    "The directory of .npy files that clients of MEGASCOPE_LIVE_COMPAT may name as the vectors "   \
    "of a projection.",                                                                            \
    "vectors")                                                                                     \
  X(without_mpi, bool, "MEGASCOPE_WITHOUT_MPI", "0", "", Accepts::on_off(), "",                    \
    "Starts recording at the program's first hook although an MPI library is loaded. Set it for "  \
    "programs that load MPI but never initialise it. Without an MPI library, recording always "    \
    "starts at the first hook.",                                                                   \
    "1")                                                                                           \
  X(clock, ClockChoice, "MEGASCOPE_CLOCK", "auto", "",                                             \
    Accepts::words(MEGASCOPE_CLOCKS(MEGASCOPE_CHOICE_TEXT)), "",                                   \
    "The clock. auto uses the TSC if it is invariant, else CLOCK_MONOTONIC.", "monotonic")         \
  X(sync_interval, Seconds, "MEGASCOPE_SYNC_INTERVAL", "10", "", Accepts::seconds(86400),          \
    "seconds",                                                                                     \
    "How often ranks with different clocks compare them between start and end. Comparisons take "  \
    "place directly after MPI_Barrier, and directly after MPI_Allreduce, MPI_Allgather and "       \
    "MPI_Alltoall that transfer data, on MPI_COMM_WORLD. 0: at start and end only.",               \
    "60")                                                                                          \
  X(test_clock, Items, "MEGASCOPE_TEST_CLOCK", "", "all clocks unchanged",                         \
    Accepts::items("a list of <rank>/<offset_ns>/<drift_ppm>[/<jitter_ns>]"), "",                  \
    "For tests of the clock correction: simulates clock errors. Each rank uses CLOCK_MONOTONIC, "  \
    "changed as its list entry specifies, as a clock of its own that no other rank shares.",       \
    "1/1000000000/100+2/-5000000/-50")                                                             \
  X(all_ranks, bool, "MEGASCOPE_ALL_RANKS", "0", "", Accepts::on_off(), "",                        \
    "Asserts that every rank has loaded the library, where the launcher cannot be queried. If "    \
    "the assertion is wrong, the job can hang.",                                                   \
    "1")                                                                                           \
  X(strict, bool, "MEGASCOPE_STRICT", "0", "", Accepts::on_off(), "",                              \
    "Ends the program at start if an option has an invalid value or an unknown name. Without "     \
    "it, invalid values are replaced by the default and unknown names are ignored.",               \
    "1")                                                                                           \
  X(verbose, bool, "MEGASCOPE_VERBOSE", "0", "", Accepts::on_off(), "",                            \
    "Prints the library's actions and their reasons on standard error.", "1")

// clang-format on
