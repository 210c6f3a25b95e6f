#include "tests/apps/program.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

/// MPI_THREAD_MULTIPLE as programs use it: a communicator for each thread; one thread that
/// completes what others have begun; a thread that only serves messages of any tag.
namespace {

using namespace program;
constexpr int kThreads = 4;
constexpr int kSteps = 60;

double own_communicators() {
  std::array<MPI_Comm, kThreads> comms{};
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::array<double, kThreads> sums{};
  in_threads(kThreads, [&](int thread) {
    const std::size_t index = static_cast<std::size_t>(thread);
    const Who me = who(comms[index]);
    for (int step = 0; step < kSteps; ++step) {
      int out = 1000 * me.rank + step;
      int in = 0;
      MPI_Sendrecv(&out, 1, MPI_INT, me.next(), thread, &in, 1, MPI_INT, me.previous(), thread,
                   comms[index], MPI_STATUS_IGNORE);
      MPI_Allreduce(MPI_IN_PLACE, &in, 1, MPI_INT, MPI_SUM, comms[index]);
      sums[index] += in;
    }
  });
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

/// Requests handed over to the thread that completes them.
class Requests {
 public:
  void put(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(request);
    changed_.notify_one();
  }
  MPI_Request take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    const MPI_Request request = waiting_.front();
    waiting_.pop_front();
    return request;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MPI_Request> waiting_;
};

/// Begun in kThreads threads, completed in another one.
double handed_over() {
  const Who me = who();
  Requests requests;
  std::vector<int> in(std::size_t{kThreads} * kSteps);
  std::vector<int> out(in.size(), me.rank + 1);
  std::thread completer([&] {
    for (std::size_t i = 0; i < 2 * in.size(); ++i) {
      MPI_Request request = requests.take();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  });
  in_threads(kThreads, [&](int thread) {
    for (int step = 0; step < kSteps; ++step) {
      const int tag = thread * kSteps + step;
      MPI_Request request;
      MPI_Irecv(&in[static_cast<std::size_t>(tag)], 1, MPI_INT, me.previous(), tag, MPI_COMM_WORLD,
                &request);
      requests.put(request);
      MPI_Isend(&out[static_cast<std::size_t>(tag)], 1, MPI_INT, me.next(), tag, MPI_COMM_WORLD,
                &request);
      requests.put(request);
    }
  });
  completer.join();
  double sum = 0;
  for (const int value : in) sum += value;
  return sum;
}

/// A server thread takes messages by matched probe until tag 0 has come; the others ask it.
double served() {
  const Who me = who();
  MPI_Comm questions;
  MPI_Comm_dup(MPI_COMM_WORLD, &questions);
  long served_bytes = 0;
  std::thread server([&] {
    for (int ended = 0; ended < kThreads;) {
      MPI_Message message;
      MPI_Status status;
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, questions, &message, &status);
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      std::vector<char> question(static_cast<std::size_t>(bytes));
      MPI_Mrecv(question.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      served_bytes += bytes;
      if (status.MPI_TAG == 0) ++ended;
    }
  });
  in_threads(kThreads, [&](int thread) {
    const std::vector<char> question(64);
    for (int step = 1; step <= kSteps; ++step)
      MPI_Send(question.data(), 1 + step % 64, MPI_BYTE, me.next(), 1 + thread, questions);
    MPI_Ssend(nullptr, 0, MPI_BYTE, me.next(), 0, questions);
  });
  server.join();
  MPI_Comm_free(&questions);
  return static_cast<double>(served_bytes);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  say("level", provided);
  say("own communicators", own_communicators());
  say("handed over", handed_over());
  say("served", served());
  MPI_Finalize();
}
