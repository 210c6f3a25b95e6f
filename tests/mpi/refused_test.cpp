#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <csetjmp>

/// Completing calls that MPI refuses, that are left by a jump, or that are made inside of one
/// another.
namespace megascope::mpitest {
namespace {

/// What MPI says of a null pointer in place of a request.
const int kNoPointer = faults::is_mpich() ? MPI_ERR_ARG : MPI_ERR_REQUEST;

const Scenario kNothing(
    "MpiWait.OfNoRequestIsAnError",
    [](const Who&) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      MPI_Request* const no_request = nullptr;
      std::array<MPI_Request, 2> invalid = {MPI_REQUEST_NULL, synthetic<MPI_Request>(0)};
      int index = 1234567890;  // MPI does not write it
      int flag = 1234567890;
      expect(error_class(MPI_Wait(no_request, MPI_STATUS_IGNORE)) == kNoPointer, "Wait");
      expect(error_class(MPI_Test(no_request, &flag, MPI_STATUS_IGNORE)) == kNoPointer, "Test");
      expect(error_class(MPI_Waitall(2, no_request, MPI_STATUSES_IGNORE)) == kNoPointer, "Waitall");
      expect(
          error_class(MPI_Waitany(2, invalid.data(), &index, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST,
          "Waitany");
      expect(error_class(MPI_Testany(2, invalid.data(), &index, &flag, MPI_STATUS_IGNORE)) ==
                 MPI_ERR_REQUEST,
             "Testany");
      expect(error_class(MPI_Waitsome(2, invalid.data(), &index, &flag, MPI_STATUSES_IGNORE)) ==
                 MPI_ERR_REQUEST,
             "Waitsome");
      expect(error_class(MPI_Cancel(no_request)) == kNoPointer, "Cancel");
      expect(error_class(MPI_Request_free(no_request)) == kNoPointer, "Request_free");
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    },
    [](const Who&) -> Lines {
      Lines lines = {"MPI_Comm_set_errhandler on world"};
      for (const char* name : {"Wait", "Test", "Waitall", "Waitany", "Testany", "Waitsome",
                               "Cancel", "Request_free"}) {
        const bool has_array = std::string(name).ends_with("any") ||
                               std::string(name).ends_with("some");
        lines.push_back(text("MPI_%s | error %d", name, has_array ? MPI_ERR_REQUEST : kNoPointer));
      }
      lines.emplace_back("MPI_Comm_set_errhandler on world");
      return lines;
    });

void exchange_with_self(MPI_Comm*, int*, ...) {
  int out = 1;
  int in = 0;
  std::array<MPI_Request, 2> requests;
  MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, requests.data());
  MPI_Isend(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[1]);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
}

const Scenario kWaitInWait(
    "MpiWaitall.InsideTheErrorHandlerOfAnotherCompletesItsRequests",
    [](const Who& me) {
      MPI_Errhandler handler;
      MPI_Comm_create_errhandler(exchange_with_self, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
      int value = 0;
      MPI_Request request;
      MPI_Irecv(&value, 0, MPI_INT, me.previous(), 2, MPI_COMM_WORLD, &request);
      MPI_Send(&value, 1, MPI_INT, me.next(), 2, MPI_COMM_WORLD);
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      MPI_Errhandler_free(&handler);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Comm_create_errhandler",
              "MPI_Comm_set_errhandler on world",
              text("MPI_Irecv on world | irecv r1 from %d tag 2 space 0", me.previous()),
              text("MPI_Send on world | send to %d tag 2 bytes 4", me.next()),
              text("MPI_Waitall | received r1 in world from %d tag 2 bytes %d; error %d",
                   me.previous(), faults::is_mpich() ? 0 : 4,
                   MPI_ERR_IN_STATUS),  // MPICH does not tell the size of a truncated message
              "MPI_Irecv on self depth 1 | irecv r2 from 0 tag 5 space 4",
              "MPI_Isend on self depth 1 | isend r3 to 0 tag 5 bytes 4",
              "MPI_Waitall depth 1 | received r2 in self from 0 tag 5 bytes 4; sent r3",
              "MPI_Comm_set_errhandler on world",
              "MPI_Errhandler_free"};
    },
    {2});

std::jmp_buf g_back;
void jump_back(MPI_Comm*, int*, ...) { std::longjmp(g_back, 1); }

/// Deeper in the stack than what follows.
[[gnu::noinline]] void wait_in_vain(const Who& me, int depth) {
  volatile char space[512];
  space[0] = 0;
  if (depth > 0) return wait_in_vain(me, depth - 1 + space[0]);
  int value = 0;
  MPI_Request request;
  MPI_Irecv(&value, 0, MPI_INT, me.previous(), 2, MPI_COMM_WORLD, &request);
  MPI_Send(&value, 1, MPI_INT, me.next(), 2, MPI_COMM_WORLD);
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);  // truncated
}

const Scenario kLeft(
    "MpiWaitall.ThatWasLeftByAJumpDoesNotDisturbOthers",
    [](const Who& me) {
      MPI_Errhandler handler;
      MPI_Comm_create_errhandler(jump_back, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
      if (setjmp(g_back) == 0) wait_in_vain(me, 10);
      for (int i = 0; i < 3; ++i) {
        std::array<MPI_Request, 2> requests;
        MPI_Irecv(nullptr, 0, MPI_INT, me.previous(), 3, MPI_COMM_WORLD, requests.data());
        MPI_Isend(nullptr, 0, MPI_INT, me.next(), 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      }
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      MPI_Errhandler_free(&handler);
    },
    [](const Who& me) -> Lines {
      Lines lines = {"MPI_Comm_create_errhandler", "MPI_Comm_set_errhandler on world",
                     text("MPI_Irecv on world | irecv r1 from %d tag 2 space 0", me.previous()),
                     text("MPI_Send on world | send to %d tag 2 bytes 4", me.next()),
                     "MPI_Waitall | left"};
      for (int i = 0; i < 3; ++i) {
        const int request = 2 + 2 * i;
        lines.push_back(
            text("MPI_Irecv on world | irecv r%d from %d tag 3 space 0", request, me.previous()));
        lines.push_back(
            text("MPI_Isend on world | isend r%d to %d tag 3 bytes 0", request + 1, me.next()));
        lines.push_back(text("MPI_Waitall | received r%d in world from %d tag 3 bytes 0; sent r%d",
                             request, me.previous(), request + 1));
      }
      lines.emplace_back("MPI_Comm_set_errhandler on world");
      lines.emplace_back("MPI_Errhandler_free");
      return lines;
    },
    {2});

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
