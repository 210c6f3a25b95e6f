#pragma once

#include <cstddef>
#include <cstdint>

/// Limits of the live view (docs/live_protocol.md).
namespace megascope::live {

inline constexpr std::size_t kMaxClients = 16;
inline constexpr std::size_t kMaxCompatClients = 8;
/// Different capture requests from clients of the compatibility endpoint, which are not
/// authenticated.
inline constexpr std::size_t kMaxCompatCaptureRequests = 32;
/// Projection vectors, in total.
inline constexpr std::size_t kMaxVectorBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxConnections = 32;  ///< WebSocket clients and HTTP connections
/// The same for the compatibility endpoint.
inline constexpr std::size_t kMaxCompatConnections = 16;
inline constexpr std::size_t kMaxSubscriptions = 16;  ///< for each client
inline constexpr std::size_t kMaxSubscriptionName = 64;
inline constexpr std::size_t kMaxNames = 16;  ///< patterns for each panel
inline constexpr std::uint32_t kFirstCredits = 2;
inline constexpr std::uint32_t kMaxCredits = 64;
/// One message from a client.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 10;
inline constexpr double kMessagesPerSecond = 100.0;
inline constexpr double kMessageBurst = 200.0;
/// Header of an HTTP request.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{8} << 10;

inline constexpr std::size_t kMaxFrameBytes = std::size_t{4} << 20;
/// Payload of frames of kinds 1 to 3.
inline constexpr std::size_t kSeriesFrameBytes = std::size_t{512} << 10;
/// Texts queued for a client.
inline constexpr std::size_t kMaxReplyBytes = std::size_t{256} << 10;
/// The application's answers queued for a client, see AnswerQueue.
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxVerdictBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxEntries = 65'536;  ///< tensors, and counters
inline constexpr std::size_t kMaxSteps = 10'000;
/// For each of times, counters, statistics.
inline constexpr std::size_t kMaxSeriesBytes = std::size_t{16} << 20;
/// Views of a generated text queued for a client of the compatibility endpoint.
inline constexpr std::size_t kMaxTextViewBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxViewBytes = std::size_t{64} << 20;  ///< complete views
/// Views that are still incomplete.
inline constexpr std::size_t kMaxPartBytes = std::size_t{64} << 20;
/// Data from the application's threads not yet processed.
inline constexpr std::size_t kMaxInboxBytes = std::size_t{32} << 20;

inline constexpr unsigned kHandshakeSeconds = 5;
inline constexpr unsigned kIdleSeconds = 20;
inline constexpr unsigned kBudgetLookMs = 50;  ///< polling interval while waiting for the budget

}  // namespace megascope::live
