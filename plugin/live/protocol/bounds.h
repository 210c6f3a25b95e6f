#pragma once

#include <cstddef>
#include <cstdint>

/// Limits of the live view (docs/live_protocol.md).
namespace megascope::live {

inline constexpr std::size_t kMaxClients = 16;
inline constexpr std::size_t kMaxCompatClients = 8;
/// Capture requests, without duplicates, of all clients of the compatibility endpoint, which are
/// not authenticated.
inline constexpr std::size_t kMaxCompatCaptureRequests = 32;
/// Memory of all projection vectors.
inline constexpr std::size_t kMaxVectorBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxConnections = 32;  ///< WebSocket clients and HTTP connections
/// WebSocket clients and HTTP connections of the compatibility endpoint.
inline constexpr std::size_t kMaxCompatConnections = 16;
inline constexpr std::size_t kMaxSubscriptions = 16;  ///< for each client
inline constexpr std::size_t kMaxSubscriptionName = 64;
inline constexpr std::size_t kMaxNames = 16;  ///< patterns for each panel
inline constexpr std::uint32_t kFirstCredits = 2;
inline constexpr std::uint32_t kMaxCredits = 64;
/// Size of one message from a client.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 10;
inline constexpr double kMessagesPerSecond = 100.0;
inline constexpr double kMessageBurst = 200.0;
/// Size of the header of an HTTP request.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{8} << 10;

inline constexpr std::size_t kMaxFrameBytes = std::size_t{4} << 20;
/// Payload of a frame of kind kSteps, kCounters or kStatistics.
inline constexpr std::size_t kSeriesFrameBytes = std::size_t{512} << 10;
/// Size of the texts queued for a client.
inline constexpr std::size_t kMaxReplyBytes = std::size_t{256} << 10;
/// Size of the application's answers queued for a client (AnswerQueue).
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxVerdictBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxEntries = 65'536;  ///< number of tensors; also number of counters
inline constexpr std::size_t kMaxSteps = 10'000;
/// Memory of each of the three logs: step times, counters, statistics.
inline constexpr std::size_t kMaxSeriesBytes = std::size_t{16} << 20;
/// Memory of the views that are queued for one client of the compatibility endpoint while a text is
/// generated. A view contains the elements or tiles of one tensor in one step.
inline constexpr std::size_t kMaxTextViewBytes = std::size_t{4} << 20;
/// Memory of all complete views, from which clients are served.
inline constexpr std::size_t kMaxViewBytes = std::size_t{64} << 20;
/// Memory of all views for which parts of ranks are still missing.
inline constexpr std::size_t kMaxPartBytes = std::size_t{64} << 20;
/// Data from the application's threads that the live view's thread has not processed yet.
inline constexpr std::size_t kMaxInboxBytes = std::size_t{32} << 20;

inline constexpr unsigned kHandshakeSeconds = 5;
inline constexpr unsigned kIdleSeconds = 20;
inline constexpr unsigned kBudgetLookMs = 50;  ///< polling interval while waiting for the budget

}  // namespace megascope::live
