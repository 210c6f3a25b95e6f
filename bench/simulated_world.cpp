#include "bench/simulated_world.h"

#include "bench/owned_heap.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/mman.h>

namespace megascope::bench {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t
    kSpareBytes = 256;  ///< at the far end of a stack: still 0, or it was too small

double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "simulation: %s\n", why);
  std::exit(1);
}

/// One rank's view of the world.
class SimulatedCollective final : public TreeCollective {
 public:
  SimulatedCollective(SimulatedWorld& world, int rank, int size)
      : TreeCollective(rank, size), world_(world) {}

  Status split(int, int, std::unique_ptr<Collective>&) override {
    return Status::error("simulated ranks cannot be split");
  }

 private:
  Status send(std::span<const std::byte> message, int to) override {
    world_.send(rank(), to, message);
    return Status::ok();
  }
  Status receive(Bytes& message, int from) override {
    world_.receive(from, rank(), message);
    return Status::ok();
  }

  SimulatedWorld& world_;
};

}  // namespace

SimulatedWorld::SimulatedWorld(int size, const Link& link)
    : link_(link), ranks_(static_cast<std::size_t>(size)), counts_(ranks_.size()) {
  void* stacks = mmap(nullptr, kStackBytes * ranks_.size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) give_up("no space for the ranks' stacks");
  madvise(stacks, kStackBytes * ranks_.size(), MADV_NOHUGEPAGE);
  stacks_ = static_cast<std::byte*>(stacks);
}

SimulatedWorld::~SimulatedWorld() { munmap(stacks_, kStackBytes * ranks_.size()); }

void SimulatedWorld::run(const std::function<void(Collective&)>& body) {
  body_ = &body;
  heap::begin(static_cast<int>(ranks_.size()));
  for (int rank = static_cast<int>(ranks_.size()); rank-- > 0;) {  // from the leaves: fewer wait
    begin(rank);
    resume(rank);
  }
  while (!ready_.empty()) {
    const int rank = ready_.front();
    ready_.pop_front();
    resume(rank);
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i].has_ended) give_up("all ranks wait");
    const std::span spare(stacks_ + i * kStackBytes, kSpareBytes);
    if (std::ranges::any_of(spare, [](std::byte one) { return one != std::byte{0}; }))
      give_up("a stack was too small");
    counts_[i].max_heap_bytes = heap::max_bytes(static_cast<int>(i));
  }
}

void SimulatedWorld::enter(unsigned high, unsigned low) {
  auto* world = reinterpret_cast<SimulatedWorld*>(std::uintptr_t{high} << 32 | low);
  const int rank = world->running_;
  {
    SimulatedCollective collective(*world, rank, static_cast<int>(world->ranks_.size()));
    (*world->body_)(collective);
  }
  world->ranks_[static_cast<std::size_t>(rank)].has_ended = true;
}

void SimulatedWorld::begin(int rank) {
  ucontext_t& context = ranks_[static_cast<std::size_t>(rank)].context;
  getcontext(&context);
  context.uc_stack.ss_sp = stacks_ + static_cast<std::size_t>(rank) * kStackBytes;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = &scheduler_;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(&SimulatedWorld::enter), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void SimulatedWorld::resume(int rank) {
  running_ = rank;
  heap::set_owner(rank);
  charged_until_ns_ = processor_ns();
  swapcontext(&scheduler_, &ranks_[static_cast<std::size_t>(rank)].context);
  charge_time();
  heap::set_owner(-1);
}

void SimulatedWorld::charge_time() {
  const double now_ns = processor_ns();
  counts_[static_cast<std::size_t>(running_)].modelled_ns += now_ns - charged_until_ns_;
  charged_until_ns_ = now_ns;
}

void SimulatedWorld::send(int from, int to, std::span<const std::byte> message) {
  charge_time();
  RankCount& count = counts_[static_cast<std::size_t>(from)];
  ++count.messages_sent;
  count.bytes_sent += message.size();
  count.largest_bytes = std::max<std::uint64_t>(count.largest_bytes, message.size());
  ++count.rounds;
  count.modelled_ns += static_cast<double>(message.size()) / link_.bytes_per_ns;
  Rank& receiver = ranks_[static_cast<std::size_t>(to)];
  const int owner = heap::set_owner(-1);  // on its way it has no owner
  receiver.waiting.push_back(
      {from, {message.begin(), message.end()}, count.rounds, count.modelled_ns + link_.latency_ns});
  heap::set_owner(owner);
  if (receiver.awaited == from) {
    receiver.awaited = -1;
    ready_.push_back(to);
  }
  charged_until_ns_ = processor_ns();
}

void SimulatedWorld::receive(int from, int to, Collective::Bytes& message) {
  Rank& rank = ranks_[static_cast<std::size_t>(to)];
  const auto next = [&] { return std::ranges::find(rank.waiting, from, &Message::from); };
  if (next() == rank.waiting.end()) {
    rank.awaited = from;
    swapcontext(&rank.context, &scheduler_);
  }
  charge_time();
  RankCount& count = counts_[static_cast<std::size_t>(to)];
  const auto found = next();
  ++count.messages_received;
  count.bytes_received += found->bytes.size();
  count.rounds = std::max(count.rounds + 1, found->round);
  count.modelled_ns = std::max(count.modelled_ns, found->arrival_ns);
  message.assign(found->bytes.begin(), found->bytes.end());
  const int owner = heap::set_owner(-1);
  rank.waiting.erase(found);
  heap::set_owner(owner);
  charged_until_ns_ = processor_ns();
}

}  // namespace megascope::bench
