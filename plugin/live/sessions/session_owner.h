#pragma once

#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/protocol_endpoint.h"

#include <boost/asio/io_context.hpp>

namespace megascope::live {

class Access;
class ClientSession;

/// The interface through which sessions use the event loop that runs them. The loop outlives every
/// session, because its destructor destroys the remaining sessions with the context. Only on the
/// loop's thread.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;

  virtual boost::asio::io_context& context() = 0;
  virtual const Access& access() const = 0;
  virtual Hub& hub() = 0;
  /// Returns the server side of the protocol of a port. is_compat: returns that of the
  /// compatibility endpoint, which must exist.
  virtual ProtocolEndpoint& endpoint(bool is_compat) = 0;
  /// Registers a WebSocket client. Until remove(), the loop calls its serve() when there is data
  /// for it.
  virtual void add(ClientSession* session) = 0;
  virtual void remove(ClientSession* session) = 0;
  /// Adds `difference` to the number of connections of a protocol.
  virtual void count_connection(const ProtocolEndpoint& endpoint, int difference) = 0;
  /// Publishes capture requests and the next client request for the application's threads. Call
  /// after a client's message or a disconnect.
  virtual void publish() = 0;
};

}  // namespace megascope::live
