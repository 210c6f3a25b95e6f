#include "plugin/cli/common/fork_collective.h"

#include "plugin/cli/common/say.h"
#include "plugin/cli/common/socket_tree.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace megascope::cli {
namespace {

constexpr int kExceptionExit = 70;

/// A socket pair between a member and its parent.
struct Edge {
  SocketEnd at_parent;
  SocketEnd at_child;
};

/// Creates the sockets. Edge i belongs to member i; edge 0 is unused.
Status make_edges(int members, std::vector<Edge>& edges) {
  edges.resize(static_cast<std::size_t>(members));
  for (int rank = 1; rank < members; ++rank) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return Status::from_errno("cannot create sockets for " + std::to_string(members) + " members",
                                errno);
    }
    edges[static_cast<std::size_t>(rank)] = {
        SocketEnd(ends[0], rank), SocketEnd(ends[1], BinomialTree(rank, members).parent())};
  }
  return Status::ok();
}

/// Keeps this member's sockets and closes all others, so that the death of a neighbour is detected.
SocketCollective take_place(int rank, int members, std::vector<Edge> edges) {
  std::vector<SocketEnd> children;
  for (const int child : BinomialTree(rank, members).children()) {
    children.push_back(std::move(edges[static_cast<std::size_t>(child)].at_parent));
  }
  return {rank, members, std::move(edges[static_cast<std::size_t>(rank)].at_child),
          std::move(children)};
}

[[noreturn]] void run_child(int rank, int members, std::vector<Edge> edges, pid_t caller,
                            const std::function<int(Collective&)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != caller) ::_exit(kExceptionExit);  // the caller died before prctl took effect
  int exit_code = kExceptionExit;
  try {
    SocketCollective collective = take_place(rank, members, std::move(edges));
    exit_code = body(collective);
  } catch (const std::exception& problem) {
    say("member " + std::to_string(rank) + ": " + problem.what());
  } catch (...) {
    std::fprintf(stderr, "megascope: member %d: an exception\n", rank);
  }
  std::fflush(nullptr);
  ::_exit(exit_code);
}

/// The forked children; the destructor reaps them.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() { (void)reap().is_ok(); }

  void add(pid_t child) { children_.push_back(child); }

  /// Waits for all children. The error names the first failure; a child killed by a signal takes
  /// precedence over one that exited with an error.
  Status reap() {
    Status killed;
    Status failed;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      int state = 0;
      pid_t done;
      do {
        done = ::waitpid(children_[i], &state, 0);
      } while (done < 0 && errno == EINTR);
      const std::string name = "member " + std::to_string(i + 1);
      if (done < 0) {
        failed.update(Status::from_errno(name, errno));
      } else if (WIFSIGNALED(state)) {
        const char* signal = ::strsignal(WTERMSIG(state));
        killed.update(Status::error(name + " was killed by signal " +
                                    std::to_string(WTERMSIG(state)) +
                                    (signal != nullptr ? std::string(" (") + signal + ")" : "")));
      } else if (WEXITSTATUS(state) != 0) {
        failed.update(
            Status::error(name + " failed with exit code " + std::to_string(WEXITSTATUS(state))));
      }
    }
    children_.clear();
    killed.update(std::move(failed));
    return killed;
  }

 private:
  std::vector<pid_t> children_;
};

}  // namespace

Status ForkGroup::run(int members, const std::function<int(Collective&)>& body) {
  if (members < 1) return Status::error("a group needs at least one member");
  std::vector<Edge> edges;
  Status status = make_edges(members, edges);
  if (!status.is_ok()) return status;
  std::fflush(nullptr);  // otherwise the children would write the buffered output again
  Children children;
  const pid_t caller = ::getpid();
  for (int rank = 1; rank < members; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) run_child(rank, members, std::move(edges), caller, body);
    if (child < 0) {
      status = Status::from_errno("fork", errno);
      edges.clear();  // children see the closed sockets and fail
      (void)children.reap().is_ok();
      return status;
    }
    children.add(child);
  }
  int exit_code = 0;
  {
    SocketCollective collective = take_place(0, members, std::move(edges));
    exit_code = body(collective);
  }
  status = children.reap();
  if (exit_code != 0)
    status.update(Status::error("member 0 failed with exit code " + std::to_string(exit_code)));
  return status;
}

int usable_processor_count() {
  cpu_set_t processors;
  if (::sched_getaffinity(0, sizeof processors, &processors) != 0) return 1;
  return std::max(CPU_COUNT(&processors), 1);
}

}  // namespace megascope::cli
