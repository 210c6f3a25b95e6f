#include "tests/analysis/random_program.h"

#include "tests/support/sample_run.h"

#include <algorithm>
#include <map>
#include <random>

namespace megascope::analysis {
namespace {

using test::recv;
using test::recv_request;
using test::SampleRun;
using test::send;
using test::send_complete;
using test::send_request;

constexpr std::int32_t kSide = 4;
constexpr std::int32_t kRanks = kSide * kSide * kSide;
constexpr int kRounds = 12;
constexpr int kMessages = 150;

struct Message {
  std::int32_t source = 0;
  std::int32_t destination = 0;
  std::int32_t tag = 0;
  std::uint64_t number = 0;
  bool is_taken = false;
};

class Generator {
 public:
  Generator(std::uint32_t seed, std::uint64_t skew_ns) : random_(seed), run_(kRanks) {
    for (std::int32_t rank = 0; rank < kRanks; ++rank) clocks_.push_back(1 + below(skew_ns + 1));
    add_lines();
  }

  RandomProgram make() {
    for (int round = 0; round < kRounds; ++round) {
      exchange();
      collectives();
    }
    run_.finish(1'000'000'000);
    return {run_.source(), message_count_, collective_count_};
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint64_t tick(std::int32_t rank) {
    return clocks_[static_cast<std::size_t>(rank)] += 1 + below(5000);
  }

  /// The communicators of the grid's lines in each direction.
  void add_lines() {
    comms_.emplace_back();
    for (std::int32_t rank = 0; rank < kRanks; ++rank) comms_.back().members.push_back(rank);
    for (const std::int32_t stride : {1, kSide, kSide * kSide}) {
      for (std::int32_t first = 0; first < kRanks; ++first) {
        if (first / stride % kSide != 0) continue;
        Line line;
        for (std::int32_t i = 0; i < kSide; ++i) line.members.push_back(first + i * stride);
        line.comm = run_.comm("line", line.members);
        comms_.push_back(std::move(line));
      }
    }
  }

  void exchange() {
    std::map<std::int32_t, std::vector<Message>> by_receiver;
    for (int i = 0; i < kMessages; ++i) {
      Message message{.source = static_cast<std::int32_t>(below(kRanks)),
                      .destination = static_cast<std::int32_t>(below(8)) * 7,
                      .tag = static_cast<std::int32_t>(below(3)),
                      .number = 1 + message_count_++};
      if (below(2) == 0) message.source = message.source % 5;  // long series
      start(message);
      by_receiver[message.destination].push_back(message);
    }
    for (auto& [receiver, messages] : by_receiver) receive_all(receiver, messages);
    for (auto& [rank, requests] : open_sends_) {
      std::ranges::shuffle(requests, random_);
      run_.call(rank, "MPI_Waitall", tick(rank), requests);
    }
    open_sends_.clear();
  }

  void start(const Message& message) {
    if (below(2) == 0) {
      run_.call(message.source, "MPI_Send", tick(message.source),
                {send(message.destination, message.tag, message.number)});
      return;
    }
    const RequestId request = ++next_request_;
    run_.call(message.source, "MPI_Isend", tick(message.source),
              {send_request(request, message.destination, message.tag, message.number)});
    open_sends_[message.source].push_back(send_complete(request));
  }

  /// Sources' messages come mixed; each receive in order of posting takes the first that it fits.
  void receive_all(std::int32_t rank, std::vector<Message>& messages) {
    std::vector<Message> arrived = mixed(messages);
    std::vector<Fact> open;
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      const Message& wanted = *std::ranges::find(arrived, false, &Message::is_taken);
      const std::int32_t source = below(3) == 0 ? kAnySource : wanted.source;
      const std::int32_t tag = below(3) == 0 ? kAnyTag : wanted.tag;
      Message& got = *std::ranges::find_if(arrived, [&](const Message& message) {
        return !message.is_taken && (source == kAnySource || message.source == source) &&
               (tag == kAnyTag || message.tag == tag);
      });
      got.is_taken = true;
      Fact fact = recv(got.source, got.tag, got.number);
      if (below(3) == 0) {
        run_.call(rank, "MPI_Recv", tick(rank), {fact});
        continue;
      }
      fact.kind = FactKind::kRecvComplete;
      fact.request = ++next_request_;
      run_.call(rank, "MPI_Irecv", tick(rank), {recv_request(fact.request, source, tag)});
      open.push_back(fact);
    }
    std::ranges::shuffle(open, random_);
    const std::size_t alone = open.empty() ? 0 : below(open.size());
    for (std::size_t i = 0; i < alone; ++i) run_.call(rank, "MPI_Waitany", tick(rank), {open[i]});
    run_.call(rank, "MPI_Waitall", tick(rank),
              {open.begin() + static_cast<std::ptrdiff_t>(alone), open.end()});
  }

  /// In another order, but those of one source.
  std::vector<Message> mixed(const std::vector<Message>& messages) {
    std::vector<std::int32_t> sources;
    for (const Message& message : messages) sources.push_back(message.source);
    std::ranges::shuffle(sources, random_);
    std::vector<Message> arrived;
    std::map<std::int32_t, std::size_t> next;
    for (const std::int32_t source : sources) {
      std::size_t& at = next[source];
      while (messages[at].source != source) ++at;
      arrived.push_back(messages[at++]);
    }
    return arrived;
  }

  void collectives() {
    for (Line& line : comms_) {
      const std::uint64_t number = 1 + collective_count_++;
      for (const std::int32_t rank : line.members) {
        run_.collective(rank, "MPI_Allreduce", tick(rank), line.comm, line.next, kNoPeer,
                        number * 12);
      }
      ++line.next;
    }
  }

  struct Line {
    CommId comm = 0;
    std::vector<std::int32_t> members;
    std::uint32_t next = 0;
  };
  std::mt19937_64 random_;
  SampleRun run_;
  std::vector<std::uint64_t> clocks_;
  std::vector<Line> comms_;
  std::map<std::int32_t, std::vector<Fact>> open_sends_;
  RequestId next_request_ = 0;
  std::uint64_t message_count_ = 0;
  std::uint64_t collective_count_ = 0;
};

}  // namespace

RandomProgram random_program(std::uint32_t seed, std::uint64_t skew_ns) {
  return Generator(seed, skew_ns).make();
}

}  // namespace megascope::analysis
