#include "tests/mpi/scenario.h"

#include <algorithm>
#include <cstdint>
#include <vector>

/// Thousands of requests open at once, completed in another order than that of their making.
/// Message i has tag i; receives have the numbers 1 … of requests, sends those behind.
namespace megascope::mpitest {
namespace {

constexpr int kMany = 5000;

/// A one-to-one mixture of 0 … count - 1: 3001 is a prime that divides neither count used here.
int mixed(int i, int count) { return static_cast<int>(std::int64_t{i} * 3001 % count); }

/// count receives of one int from the previous rank, then as many sends of none to the next.
/// Synchronous ones: of others that are complete at once MPI may share one request.
struct Messages {
  Messages(const Who& me, int count, int first_tag = 0)
      : in(at(count)), receives(at(count)), sends(at(count)) {
    for (int i = 0; i < count; ++i) {
      MPI_Irecv(&in[at(i)], 1, MPI_INT, me.previous(), first_tag + i, MPI_COMM_WORLD,
                &receives[at(i)]);
    }
    for (int i = 0; i < count; ++i) {
      MPI_Issend(&i, 0, MPI_INT, me.next(), first_tag + i, MPI_COMM_WORLD, &sends[at(i)]);
    }
  }
  /// Until what was sent has arrived: a message behind the others, on the same way.
  static void settle(const Who& me) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Sendrecv(nullptr, 0, MPI_INT, me.next(), 30000, nullptr, 0, MPI_INT, me.previous(), 30000,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  std::vector<int> in;
  std::vector<MPI_Request> receives;
  std::vector<MPI_Request> sends;
};
Lines message_lines(const Who& me, int count) {
  Lines lines;
  for (int i = 0; i < count; ++i) {
    lines.push_back(
        text("MPI_Irecv on world | irecv r%d from %d tag %d space 4", i + 1, me.previous(), i));
  }
  for (int i = 0; i < count; ++i) {
    lines.push_back(
        text("MPI_Issend on world | isend r%d to %d tag %d bytes 0", count + i + 1, me.next(), i));
  }
  return lines;
}
Lines settle_lines(const Who& me) {
  return {
      "MPI_Barrier on world | coll #0 sent 0 received 0",
      text("MPI_Sendrecv on world | send to %d tag 30000 bytes 0; recv from %d tag 30000 bytes 0",
           me.next(), me.previous())};
}
std::string received(const Who& me, int i) {
  return text("received r%d in world from %d tag %d bytes 0", i + 1, me.previous(), i);
}
/// A call and its facts.
std::string joined(const std::string& call, const Lines& facts) {
  std::string line = call;
  for (std::size_t i = 0; i < facts.size(); ++i) line += (i == 0 ? " | " : "; ") + facts[i];
  return line;
}
void append(Lines& lines, const Lines& others) {
  lines.insert(lines.end(), others.begin(), others.end());
}

const Scenario kWaitall(
    "MpiWaitall.CompletesThousandsInAnotherOrderThanTheyWereMade",
    [](const Who& me) {
      Messages messages(me, kMany);
      std::vector<MPI_Request> all;
      for (int i = 0; i < kMany; ++i) {
        all.push_back(messages.sends[at(mixed(i, kMany))]);
        all.push_back(messages.receives[at(kMany - 1 - i)]);
      }
      MPI_Waitall(2 * kMany, all.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      Lines lines = message_lines(me, kMany);
      Lines facts;
      for (int i = 0; i < kMany; ++i) {
        facts.push_back(text("sent r%d", kMany + 1 + mixed(i, kMany)));
        facts.push_back(received(me, kMany - 1 - i));
      }
      lines.push_back(joined("MPI_Waitall", facts));
      return lines;
    },
    {2});

const Scenario kWait(
    "MpiWait.CompletesThousandsOneByOneInAMixedOrder",
    [](const Who& me) {
      Messages messages(me, kMany);
      for (int i = 0; i < kMany; ++i)
        MPI_Wait(&messages.receives[at(mixed(i, kMany))], MPI_STATUS_IGNORE);
      for (int i = kMany - 1; i >= 0; --i) MPI_Wait(&messages.sends[at(i)], MPI_STATUS_IGNORE);
    },
    [](const Who& me) {
      Lines lines = message_lines(me, kMany);
      for (int i = 0; i < kMany; ++i)
        lines.push_back("MPI_Wait | " + received(me, mixed(i, kMany)));
      for (int i = kMany - 1; i >= 0; --i)
        lines.push_back(text("MPI_Wait | sent r%d", kMany + 1 + i));
      return lines;
    },
    {2});

/// All messages are there: Waitsome and Testsome return all of them, in the order of their arrays.
const Scenario kSome(
    "MpiWaitsome.CompletesThousandsInTheOrderOfItsArray",
    [](const Who& me) {
      constexpr int kHalf = kMany / 2;
      Messages messages(me, kMany);
      messages.settle(me);
      std::vector<MPI_Request> first;
      std::vector<MPI_Request> second;
      for (int i = 0; i < kHalf; ++i) first.push_back(messages.receives[at(mixed(i, kHalf))]);
      for (int i = 0; i < kHalf; ++i) second.push_back(messages.receives[at(kMany - 1 - i)]);
      std::vector<int> indices(kHalf);
      int count = 0;
      MPI_Waitsome(kHalf, first.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      expect(count == kHalf && std::is_sorted(indices.begin(), indices.end()), "the first half");
      MPI_Testsome(kHalf, second.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      expect(count == kHalf && std::is_sorted(indices.begin(), indices.end()), "the second half");
      MPI_Waitall(kMany, messages.sends.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      constexpr int kHalf = kMany / 2;
      Lines lines = message_lines(me, kMany);
      append(lines, settle_lines(me));
      Lines facts;
      for (int i = 0; i < kHalf; ++i) facts.push_back(received(me, mixed(i, kHalf)));
      lines.push_back(joined("MPI_Waitsome", facts));
      facts.clear();
      for (int i = 0; i < kHalf; ++i) facts.push_back(received(me, kMany - 1 - i));
      lines.push_back(joined("MPI_Testsome", facts));
      facts.clear();
      for (int i = 0; i < kMany; ++i) facts.push_back(text("sent r%d", kMany + 1 + i));
      lines.push_back(joined("MPI_Waitall", facts));
      return lines;
    },
    {1, 2});

/// Some are there, the others are not: every third message is sent before Testsome, the others
/// after it.
const Scenario kPortions(
    "MpiTestsome.LeavesOpenWhatHasNotCome",
    [](const Who& me) {
      constexpr int kCount = 1500;
      std::vector<int> in(kCount);
      std::vector<MPI_Request> requests(kCount);
      for (int i = 0; i < kCount; ++i) {
        MPI_Irecv(&in[at(i)], 1, MPI_INT, me.previous(), i, MPI_COMM_WORLD, &requests[at(i)]);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      for (int i = 0; i < kCount; i += 3) MPI_Send(&i, 1, MPI_INT, me.next(), i, MPI_COMM_WORLD);
      MPI_Sendrecv(nullptr, 0, MPI_INT, me.next(), 30000, nullptr, 0, MPI_INT, me.previous(), 30000,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      std::vector<int> indices(kCount);
      int count = 0;
      MPI_Testsome(kCount, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      expect(count == kCount / 3 && indices[1] == 3, "every third");
      MPI_Barrier(MPI_COMM_WORLD);
      for (int i = kCount - 1; i >= 0; --i) {
        if (i % 3 != 0) MPI_Send(&i, 1, MPI_INT, me.next(), i, MPI_COMM_WORLD);
      }
      MPI_Waitall(kCount, requests.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      constexpr int kCount = 1500;
      Lines lines;
      Lines thirds;
      Lines others;
      for (int i = 0; i < kCount; ++i) {
        lines.push_back(
            text("MPI_Irecv on world | irecv r%d from %d tag %d space 4", i + 1, me.previous(), i));
        (i % 3 == 0 ? thirds : others)
            .push_back(
                text("received r%d in world from %d tag %d bytes 4", i + 1, me.previous(), i));
      }
      lines.emplace_back("MPI_Barrier on world | coll #0 sent 0 received 0");
      for (int i = 0; i < kCount; i += 3)
        lines.push_back(text("MPI_Send on world | send to %d tag %d bytes 4", me.next(), i));
      lines.push_back(settle_lines(me)[1]);
      lines.push_back(joined("MPI_Testsome", thirds));
      lines.emplace_back("MPI_Barrier on world | coll #1 sent 0 received 0");
      for (int i = kCount - 1; i >= 0; --i) {
        if (i % 3 != 0)
          lines.push_back(text("MPI_Send on world | send to %d tag %d bytes 4", me.next(), i));
      }
      lines.push_back(joined("MPI_Waitall", others));
      return lines;
    },
    {1, 2});

/// Among them every tenth receive is cancelled (no rank sends to it), and every tenth send is freed
/// while it is active.
const Scenario kCancelled(
    "MpiCancel.AndFreeAmongThousands",
    [](const Who& me) {
      constexpr int kCount = 2000;
      Messages messages(me, kCount);
      std::vector<MPI_Request> more(kCount / 10);
      int nothing = 0;
      for (int i = 0; i < kCount / 10; ++i) {
        MPI_Irecv(&nothing, 1, MPI_INT, me.previous(), 20000 + i, MPI_COMM_WORLD, &more[at(i)]);
      }
      for (int i = kCount / 10 - 1; i >= 0; --i) MPI_Cancel(&more[at(i)]);
      for (int i = 0; i < kCount; i += 10) MPI_Request_free(&messages.sends[at(i)]);
      std::vector<MPI_Request> all;
      for (int i = 0; i < kCount; ++i) {
        if (i % 10 == 0)
          all.push_back(more[at(i / 10)]);
        else
          all.push_back(messages.sends[at(i)]);
        all.push_back(messages.receives[at(i)]);
      }
      MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      constexpr int kCount = 2000;
      Lines lines = message_lines(me, kCount);
      for (int i = 0; i < kCount / 10; ++i) {
        lines.push_back(text("MPI_Irecv on world | irecv r%d from %d tag %d space 4",
                             2 * kCount + 1 + i, me.previous(), 20000 + i));
      }
      for (int i = kCount / 10 - 1; i >= 0; --i)
        lines.push_back(text("MPI_Cancel | cancels r%d", 2 * kCount + 1 + i));
      for (int i = 0; i < kCount; i += 10)
        lines.push_back(text("MPI_Request_free | freed r%d", kCount + 1 + i));
      Lines facts;
      for (int i = 0; i < kCount; ++i) {
        facts.push_back(i % 10 == 0 ? text("cancelled r%d", 2 * kCount + 1 + i / 10)
                                    : text("sent r%d", kCount + 1 + i));
        facts.push_back(received(me, i));
      }
      lines.push_back(joined("MPI_Waitall", facts));
      return lines;
    },
    on_ranks_of({1, 2, 4},
                {2, 4}));  // MPICH has one handle for all that a process has sent to itself

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
