#include "tests/control/fake_world.h"

#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace megascope::test {

using mpi::Fn;
using mpi::g_handles;
using mpi::handle_of;
using mpi::key_of;

namespace {

FakeWorld* g_fake = nullptr;

constexpr std::uint64_t kWorld = 0x100;
constexpr std::uint64_t kOwn = 0x200;  // and what is split from it
constexpr std::uint64_t kProgramsHandler = 0x300;
constexpr std::uint64_t kErrorsReturn = 0x310;
constexpr std::uint64_t kOperator = 0x400;
constexpr std::uint64_t kFirstType = 0x1000;
constexpr std::uint64_t kFirstRequest = 0x2000;
constexpr std::uint64_t kFirstMessage = 0x3000;
constexpr std::uint64_t kFirstMail = 0x10000;
constexpr std::uint64_t kFirstReceiving = 0x20000;
constexpr std::uint64_t kDistance = 0x10;  // handles are addresses, or numbers

MPI_User_function* g_merge = nullptr;
std::vector<std::size_t> g_type_bytes;
struct Reduction {
  std::byte* all;
  std::size_t bytes;
  MPI_Datatype type;
};
std::array<Reduction, FakeWorld::kMaxRounds> g_reductions;
struct Sending {
  const void* data;
  std::size_t bytes;
  int tag;
  bool is_sent;
};
std::vector<Sending> g_sendings;
struct Receiving {
  void* data;
  std::size_t bytes;
  int from;
  int tag;
  bool is_done;
};
std::vector<Receiving> g_receivings;  ///< in the order in which they were posted
struct Unexpected {
  int from;
  int tag;
  std::vector<std::byte> bytes;
};
std::list<Unexpected> g_unexpected;  ///< that no receive has taken, in the order in which they came

}  // namespace

/// The functions, by the names of their PMPI entry points.
struct FakePmpi {
  static int Comm_rank(MPI_Comm, int* rank) { return *rank = g_fake->rank_, MPI_SUCCESS; }
  static int Comm_size(MPI_Comm, int* size) { return *size = FakeWorld::kRanks, MPI_SUCCESS; }
  static int Comm_split(MPI_Comm comm, int, int, MPI_Comm* part) {
    ++g_fake->object_count_;
    *part = handle_of<MPI_Comm>(key_of(comm) + kOwn);
    return MPI_SUCCESS;
  }
  static int Comm_free(MPI_Comm* comm) {
    --g_fake->object_count_;
    *comm = g_handles.comm_null;
    return MPI_SUCCESS;
  }
  static int Comm_get_errhandler(MPI_Comm, MPI_Errhandler* handler) {
    *handler = handle_of<MPI_Errhandler>(g_fake->has_programs_handler_ ? kProgramsHandler
                                                                       : kErrorsReturn);
    ++g_fake->object_count_;
    return MPI_SUCCESS;
  }
  static int Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    if (key_of(comm) == kWorld) g_fake->has_programs_handler_ = key_of(handler) == kProgramsHandler;
    return MPI_SUCCESS;
  }
  static int Errhandler_free(MPI_Errhandler*) { return --g_fake->object_count_, MPI_SUCCESS; }

  static int Send(const void* data, int bytes, MPI_Datatype, int to, int, MPI_Comm) {
    return write(g_fake->sockets_[g_fake->rank_][to], data, static_cast<std::size_t>(bytes)) ==
                   bytes
               ? MPI_SUCCESS
               : MPI_ERR_OTHER;
  }
  /// As an MPI library, who waits lets letters go on.
  static int Probe(int from, int, MPI_Comm, MPI_Status* status) {
    ssize_t bytes = -1;
    while (bytes < 0) {
      send_on();
      bytes = recv(g_fake->ends_[from][g_fake->rank_], nullptr, 0,
                   MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
      if (bytes < 0 && errno != EAGAIN) return MPI_ERR_OTHER;
      if (bytes < 0) sched_yield();
    }
    mpi::set_received_bytes(*status, static_cast<std::uint64_t>(bytes));
    return MPI_SUCCESS;
  }
  static int Recv(void* data, int bytes, MPI_Datatype, int from, int, MPI_Comm, MPI_Status*) {
    return recv(g_fake->ends_[from][g_fake->rank_], data, static_cast<std::size_t>(bytes), 0) ==
                   bytes
               ? MPI_SUCCESS
               : MPI_ERR_OTHER;
  }

  static int Op_create(MPI_User_function* merge, int, MPI_Op* op) {
    if (g_fake->fails(Fn::Op_create)) return g_fake->raise();
    g_merge = merge;
    *op = handle_of<MPI_Op>(kOperator);
    return ++g_fake->object_count_, MPI_SUCCESS;
  }
  static int Op_free(MPI_Op*) { return --g_fake->object_count_, MPI_SUCCESS; }
  static int Type_contiguous(int count, MPI_Datatype, MPI_Datatype* type) {
    if (g_fake->fails(Fn::Type_contiguous)) return g_fake->raise();
    *type = handle_of<MPI_Datatype>(kFirstType + kDistance * g_type_bytes.size());
    g_type_bytes.push_back(static_cast<std::size_t>(count));
    return ++g_fake->object_count_, MPI_SUCCESS;
  }
  static int Type_commit(MPI_Datatype*) {
    return g_fake->fails(Fn::Type_commit) ? g_fake->raise() : MPI_SUCCESS;
  }
  static int Type_free(MPI_Datatype*) { return --g_fake->object_count_, MPI_SUCCESS; }

  static int Iallreduce(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op, MPI_Comm,
                        MPI_Request* request) {
    if (g_fake->fails(Fn::Iallreduce) || key_of(type) < kFirstType || count != 1 ||
        g_fake->round_ == FakeWorld::kMaxRounds)
      return MPI_ERR_OTHER;
    const std::size_t bytes = g_type_bytes[(key_of(type) - kFirstType) / kDistance];
    const auto round = static_cast<std::size_t>(g_fake->round_++);
    if (bytes > FakeWorld::kMaxBytes) return MPI_ERR_OTHER;
    g_reductions[round] = {static_cast<std::byte*>(all), bytes, type};
    std::memcpy(g_fake->shared_->blocks[round][g_fake->rank_], mine, bytes);
    g_fake->shared_->arrived[round].fetch_add(1, std::memory_order_release);
    *request = handle_of<MPI_Request>(kFirstRequest + kDistance * round);
    return MPI_SUCCESS;
  }
  static int Isend(const void* data, int bytes, MPI_Datatype, int, int tag, MPI_Comm,
                   MPI_Request* request) {
    if (g_fake->fails(Fn::Isend)) return MPI_ERR_OTHER;
    *request = handle_of<MPI_Request>(kFirstMail + kDistance * g_sendings.size());
    g_sendings.push_back({data, static_cast<std::size_t>(bytes), tag, false});
    return MPI_SUCCESS;
  }
  /// A message goes with its tag before it. False: there is no space on the way.
  static bool send_one(Sending& next) {
    iovec parts[] = {{&next.tag, sizeof next.tag}, {const_cast<void*>(next.data), next.bytes}};
    msghdr packet{};
    packet.msg_iov = parts;
    packet.msg_iovlen = 2;
    return next.is_sent = sendmsg(g_fake->mail_[g_fake->rank_], &packet, MSG_DONTWAIT) >= 0;
  }
  /// Messages of one tag keep their order, which is all that MPI promises: those of tag 0 go last.
  static void send_on() {
    for (const bool is_last : {false, true}) {
      for (Sending& next : g_sendings) {
        if (!next.is_sent && (next.tag == 0) == is_last && !send_one(next)) return;
      }
    }
  }
  /// What has come from there is read, whoever it is for.
  static bool read_on(int from) {
    for (;;) {
      ssize_t size = recv(g_fake->mail_ends_[from], nullptr, 0,
                          MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
      if (size < 0) return errno == EAGAIN;
      Unexpected& message = g_unexpected.emplace_back(Unexpected{
          from, 0, std::vector<std::byte>(static_cast<std::size_t>(size) - sizeof(int))});
      iovec parts[] = {{&message.tag, sizeof message.tag},
                       {message.bytes.data(), message.bytes.size()}};
      msghdr packet{};
      packet.msg_iov = parts;
      packet.msg_iovlen = 2;
      if (recvmsg(g_fake->mail_ends_[from], &packet, 0) != size) return false;
    }
  }
  static bool take(Receiving& receiving, std::list<Unexpected>::iterator message) {
    if (message->bytes.size() > receiving.bytes) return false;
    std::ranges::copy(message->bytes, static_cast<std::byte*>(receiving.data));
    receiving.bytes = message->bytes.size();
    g_unexpected.erase(message);
    return receiving.is_done = true;
  }
  /// Posted receives take what has come for them.
  static bool receive_on(int from) {
    if (!read_on(from)) return false;
    for (Receiving& receiving : g_receivings) {
      if (receiving.is_done || receiving.from != from) continue;
      const auto message = std::ranges::find_if(g_unexpected, [&](const Unexpected& one) {
        return one.from == from && one.tag == receiving.tag;
      });
      if (message != g_unexpected.end() && !take(receiving, message)) return false;
    }
    return true;
  }
  static int Improbe(int, int, MPI_Comm, int* is_there, MPI_Message* message, MPI_Status* status) {
    *is_there = 0;
    if (g_fake->fails(Fn::Improbe)) return MPI_ERR_OTHER;
    for (int from = 1; from < FakeWorld::kRanks; ++from) {
      if (!receive_on(from)) return MPI_ERR_OTHER;
      const auto next = std::ranges::find(g_unexpected, from, &Unexpected::from);
      if (next == g_unexpected.end()) continue;
      *is_there = 1;
      *message = handle_of<MPI_Message>(kFirstMessage +
                                        kDistance * static_cast<std::uint64_t>(from));
      status->MPI_SOURCE = from;
      status->MPI_TAG = next->tag;
      mpi::set_received_bytes(*status, next->bytes.size());
      return MPI_SUCCESS;
    }
    return MPI_SUCCESS;
  }
  static void post(const Receiving& receiving, MPI_Request* request) {
    *request = handle_of<MPI_Request>(kFirstReceiving + kDistance * g_receivings.size());
    g_receivings.push_back(receiving);
  }
  static int Imrecv(void* data, int bytes, MPI_Datatype, MPI_Message* message,
                    MPI_Request* request) {
    post({data, static_cast<std::size_t>(bytes),
          static_cast<int>((key_of(*message) - kFirstMessage) / kDistance), -1, false},
         request);
    return take(g_receivings.back(),
                std::ranges::find(g_unexpected, g_receivings.back().from, &Unexpected::from))
               ? MPI_SUCCESS
               : MPI_ERR_OTHER;
  }
  static int Irecv(void* data, int bytes, MPI_Datatype, int from, int tag, MPI_Comm,
                   MPI_Request* request) {
    post({data, static_cast<std::size_t>(bytes), from, tag, false}, request);
    return MPI_SUCCESS;
  }
  static int Get_count(const MPI_Status* status, MPI_Datatype, int* count) {
    *count = static_cast<int>(mpi::received_bytes(*status));
    return MPI_SUCCESS;
  }
  static int Wait(MPI_Request* request, MPI_Status*) {
    for (int is_done = 0; is_done == 0;) {
      if (Test(request, &is_done, nullptr) != MPI_SUCCESS) return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
  }
  static int Test(MPI_Request* request, int* is_done, MPI_Status* status) {
    if (g_fake->fails(Fn::Test)) return MPI_ERR_OTHER;
    if (key_of(*request) >= kFirstReceiving) {
      Receiving& receiving = g_receivings[(key_of(*request) - kFirstReceiving) / kDistance];
      if (!receive_on(receiving.from)) return MPI_ERR_OTHER;
      *is_done = receiving.is_done ? 1 : 0;
      if (receiving.is_done && status != MPI_STATUS_IGNORE)
        mpi::set_received_bytes(*status, receiving.bytes);
      return MPI_SUCCESS;
    }
    if (key_of(*request) >= kFirstMail) {
      send_on();
      *is_done = g_sendings[(key_of(*request) - kFirstMail) / kDistance].is_sent ? 1 : 0;
      return MPI_SUCCESS;
    }
    const std::size_t round = (key_of(*request) - kFirstRequest) / kDistance;
    *is_done = g_fake->shared_->arrived[round].load(std::memory_order_acquire) == FakeWorld::kRanks
                   ? 1
                   : 0;
    if (*is_done == 0) return MPI_SUCCESS;
    Reduction& reduction = g_reductions[round];
    std::byte(&blocks)[FakeWorld::kRanks][FakeWorld::kMaxBytes] = g_fake->shared_->blocks[round];
    std::memcpy(reduction.all, blocks[0], reduction.bytes);
    for (int rank = 1; rank < FakeWorld::kRanks; ++rank) {
      int count = 1;
      g_merge(blocks[rank], reduction.all, &count, &reduction.type);
    }
    *request = g_handles.request_null;
    return MPI_SUCCESS;
  }
};

FakeWorld::FakeWorld() {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  shared_ = static_cast<Shared*>(memory);  // zeros, which is what it begins with
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) abort();
      sockets_[from][to] = pair[0];
      ends_[from][to] = pair[1];
    }
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) abort();
    mail_[from] = pair[0];
    mail_ends_[from] = pair[1];
  }
}

FakeWorld::~FakeWorld() {
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      close(sockets_[from][to]);
      close(ends_[from][to]);
    }
    close(mail_[from]);
    close(mail_ends_[from]);
  }
  munmap(shared_, sizeof(Shared));
}

void FakeWorld::become(int rank, const Fault& fault) {
  rank_ = rank;
  fault_ = fault;
  g_fake = this;
  g_handles.comm_world = handle_of<MPI_Comm>(kWorld);
  g_handles.errors_return = handle_of<MPI_Errhandler>(kErrorsReturn);
  g_handles.request_null = handle_of<MPI_Request>(0);
  g_handles.datatype_null = handle_of<MPI_Datatype>(0);
#define FAKE_PMPI(name)                                                                       \
  static_assert(std::is_same_v<decltype(&FakePmpi::name), mpi::PmpiType<Fn::name>::Pointer>); \
  mpi::g_pmpi[static_cast<unsigned>(Fn::name)] = reinterpret_cast<void*>(&FakePmpi::name)
  FAKE_PMPI(Comm_rank);
  FAKE_PMPI(Comm_size);
  FAKE_PMPI(Comm_split);
  FAKE_PMPI(Comm_free);
  FAKE_PMPI(Comm_get_errhandler);
  FAKE_PMPI(Comm_set_errhandler);
  FAKE_PMPI(Errhandler_free);
  FAKE_PMPI(Send);
  FAKE_PMPI(Probe);
  FAKE_PMPI(Recv);
  FAKE_PMPI(Op_create);
  FAKE_PMPI(Op_free);
  FAKE_PMPI(Type_contiguous);
  FAKE_PMPI(Type_commit);
  FAKE_PMPI(Type_free);
  FAKE_PMPI(Iallreduce);
  FAKE_PMPI(Test);
  FAKE_PMPI(Isend);
  FAKE_PMPI(Improbe);
  FAKE_PMPI(Imrecv);
  FAKE_PMPI(Irecv);
  FAKE_PMPI(Get_count);
  FAKE_PMPI(Wait);
#undef FAKE_PMPI
}

bool FakeWorld::fails(Fn fn) {
  return fault_.rank == rank_ && fault_.fn == fn && calls_of_fault_++ >= fault_.call;
}

int FakeWorld::raise() {
  if (has_programs_handler_) ++program_error_count_;
  return MPI_ERR_OTHER;
}

}  // namespace megascope::test
