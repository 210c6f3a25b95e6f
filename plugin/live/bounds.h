#pragma once

#include <cstddef>
#include <cstdint>

/// What the live view keeps to (docs/live_protocol.md).
namespace megascope::live {

inline constexpr std::size_t kMostClients = 16;
inline constexpr std::size_t kMostCompatClients = 8;
inline constexpr std::size_t
    kMostCompatWishes = 32;  ///< different things that clients of the compatibility endpoint want,
                             ///< which need no token
inline constexpr std::size_t kMostVectorBytes = std::size_t{64}
                                                << 20;  ///< of all projections' vectors
inline constexpr std::size_t kMostConnections = 32;     ///< clients, and those who ask by HTTP
inline constexpr std::size_t
    kMostCompatConnections = 16;                ///< the same of the compatibility endpoint
inline constexpr std::size_t kMostPanels = 16;  ///< of a client
inline constexpr std::size_t kMostPanelName = 64;
inline constexpr std::size_t kMostNames = 16;  ///< patterns of a panel
inline constexpr std::uint32_t kFirstCredits = 2;
inline constexpr std::uint32_t kMostCredits = 64;
inline constexpr std::size_t kMostMessageBytes = std::size_t{64} << 10;  ///< from a client
inline constexpr double kMessagesPerSecond = 100.0;
inline constexpr double kMessageBurst = 200.0;
inline constexpr std::size_t kMostHeaderBytes = std::size_t{8} << 10;  ///< of an HTTP request

inline constexpr std::size_t kMostFrameBytes = std::size_t{4} << 20;
inline constexpr std::size_t kSeriesFrameBytes = std::size_t{512}
                                                 << 10;  ///< payload of frames of kinds 1 to 3
inline constexpr std::size_t kMostReplyBytes = std::size_t{256}
                                               << 10;  ///< texts that wait for a client
inline constexpr std::size_t
    kMostAnswerBytes = std::size_t{4}
                       << 20;  ///< of the program, that wait for a client, see AnswerQueue
inline constexpr std::size_t kMostVerdictBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostEntries = 65'536;  ///< tensors, and counters
inline constexpr std::size_t kMostSteps = 10'000;
inline constexpr std::size_t kMostSeriesBytes = std::size_t{16}
                                                << 20;  ///< each of times, counters, statistics
inline constexpr std::size_t
    kMostTextViewBytes = std::size_t{4} << 20;  ///< of a text that is generated, that wait for a
                                                ///< client of the other protocol
inline constexpr std::size_t kMostViewBytes = std::size_t{64} << 20;  ///< of views that are whole
inline constexpr std::size_t kMostPartBytes = std::size_t{64}
                                              << 20;  ///< of views whose parts are awaited
inline constexpr std::size_t
    kMostInboxBytes = std::size_t{32} << 20;  ///< what the application's thread handed over

inline constexpr unsigned kHandshakeSeconds = 5;
inline constexpr unsigned kIdleSeconds = 20;
inline constexpr unsigned kBudgetLookMs = 50;  ///< who waits for the budget looks so often

}  // namespace megascope::live
