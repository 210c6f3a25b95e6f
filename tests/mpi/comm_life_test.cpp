#include "tests/mpi/collective.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

/// From a communicator's making to its end: the name that it has before it is given one, what goes
/// on after MPI_Comm_free, handles that come back, and one name for all members, in any order that
/// others make meanwhile.
namespace megascope::mpitest {
namespace {

using Ranks = std::vector<std::int32_t>;

void operator+=(Lines& lines, const Lines& others) {
  lines.insert(lines.end(), others.begin(), others.end());
}
void name_and_use(MPI_Comm comm, const std::string& name) {
  MPI_Comm_set_name(comm, name.c_str());
  MPI_Barrier(comm);
}
Lines used(const std::string& name) {
  return {"MPI_Comm_set_name on " + name,
          "MPI_Barrier on " + name + " | coll #0 sent 0 received 0"};
}

/// The first of its file: communicators are counted.
const Scenario kUnnamed(
    "MpiCommDup.WithoutANameTellsHowItWasMade",
    [](const Who& me) {
      MPI_Comm dup;
      MPI_Comm half;
      MPI_Comm again;
      MPI_Comm_dup(MPI_COMM_WORLD, &dup);
      MPI_Comm_split(MPI_COMM_WORLD, me.rank % 2, 0, &half);
      MPI_Comm_dup(half, &again);
      for (MPI_Comm* comm : {&again, &half, &dup}) MPI_Comm_free(comm);
    },
    [](const Who&) -> Lines {
      const std::string dup = "MPI_Comm_dup #1 of MPI_COMM_WORLD";
      const std::string half = "MPI_Comm_split #2 of MPI_COMM_WORLD";
      const std::string again = "MPI_Comm_dup #1 of " + half;
      return {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created " + dup,
              "MPI_Comm_split on world | coll #1 sent 0 received 0; created " + half,
              "MPI_Comm_dup on " + half + " | coll #0 sent 0 received 0; created " + again,
              "MPI_Comm_free on " + again + " | ended " + again,
              "MPI_Comm_free on " + half + " | ended " + half,
              "MPI_Comm_free on " + dup + " | ended " + dup};
    });

/// MPI-4.1 §7.4.3: what is open is completed. Another one is made before, perhaps at the same
/// handle.
const Scenario kOpen(
    "MpiCommFree.LetsWhatIsOpenComplete",
    [](const Who& me) {
      MPI_Comm old;
      MPI_Comm_dup(MPI_COMM_WORLD, &old);
      MPI_Comm_set_name(old, "old");
      int out = 1;
      int in = 0;
      std::array<MPI_Request, 3> requests;
      MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, old, requests.data());
      MPI_Issend(&out, 1, MPI_INT, me.next(), 3, old, &requests[1]);
      MPI_Ibarrier(old, &requests[2]);
      MPI_Comm_free(&old);
      MPI_Comm young;
      MPI_Comm_dup(MPI_COMM_WORLD, &young);
      name_and_use(young, "young");
      MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
      MPI_Comm_free(&young);
    },
    [](const Who& me) -> Lines {
      Lines lines = {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created old",
                     "MPI_Comm_set_name on old",
                     "MPI_Irecv on old | irecv r1 from any tag 3 space 4",
                     text("MPI_Issend on old | isend r2 to %d tag 3 bytes 4", me.next()),
                     "MPI_Ibarrier on old | icoll r3 #0 sent 0 received 0",
                     "MPI_Comm_free on old | ended old",
                     "MPI_Comm_dup on world | coll #1 sent 0 received 0; created young"};
      lines += used("young");
      lines += {text("MPI_Waitall | received r1 in old from %d tag 3 bytes 4; sent r2; done r3 in "
                     "old #0 sent 0 received 0",
                     me.previous()),
                "MPI_Comm_free on young | ended young"};
      return lines;
    });

constexpr int kRounds = 10;

/// All ways of making one, and both of ending it, take turns.
const Scenario kReuse(
    "MpiCommDisconnect.TheNextCommunicatorWithItsHandleIsAnotherHoweverMade",
    [](const Who& me) {
      std::set<MPI_Comm> handles;
      MPI_Group all;
      MPI_Comm_group(MPI_COMM_WORLD, &all);
      const int period = 1;
      for (int i = 0; i < kRounds; ++i) {
        for (int way = 0; way < 5; ++way) {
          MPI_Comm comm = MPI_COMM_NULL;
          if (way == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
          if (way == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, -me.rank, &comm);
          if (way == 2) MPI_Comm_create(MPI_COMM_WORLD, all, &comm);
          if (way == 3) MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &comm);
          if (way == 4) MPI_Cart_create(MPI_COMM_WORLD, 1, &me.size, &period, 0, &comm);
          handles.insert(comm);
          name_and_use(comm, text("way %d of %d", way, i));
          if (way % 2 == 0)
            MPI_Comm_disconnect(&comm);
          else
            MPI_Comm_free(&comm);
        }
      }
      MPI_Group_free(&all);
      expect(handles.size() < kRounds, "handles come back");
    },
    [](const Who&) -> Lines {
      Lines lines = {"MPI_Comm_group on world"};
      const std::array<const char*, 5> makers{"MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_create",
                                              "MPI_Comm_create_group", "MPI_Cart_create"};
      int number = 0;  // of collectives on the world, which MPI_Comm_create_group is none of
      for (int i = 0; i < kRounds; ++i) {
        for (int way = 0; way < 5; ++way) {
          const std::string name = text("way %d of %d", way, i);
          const std::string collective = way == 3 ? ""
                                                  : text("coll #%d sent 0 received 0; ", number++);
          lines.push_back(text("%s on world | %screated %s", makers[at(way)], collective.c_str(),
                               name.c_str()));
          lines += used(name);
          const char* end = way % 2 == 0 ? "MPI_Comm_disconnect" : "MPI_Comm_free";
          lines.push_back(text("%s on %s | ended %s", end, name.c_str(), name.c_str()));
        }
      }
      lines.emplace_back("MPI_Group_free");
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      std::set<std::uint64_t> global_names;
      for (int i = 0; i < kRounds; ++i) {
        for (int way = 0; way < 5; ++way)
          global_names.insert(run.comm(0, text("way %d of %d", way, i)).global_name);
        Ranks descending;
        for (int rank = run.rank_count() - 1; rank >= 0; --rank) descending.push_back(rank);
        EXPECT_EQ(expand(run.comm(0, text("way 1 of %d", i)).members), descending);
      }
      EXPECT_EQ(global_names.size(), std::size_t{5 * kRounds});
    });

/// The lower half of the ranks makes two in its half before the first of all and none after it; the
/// upper half none and three.
int made_before(const Who& me) { return me.rank < me.size / 2 ? 2 : 0; }
int made_after(const Who& me) { return me.rank < me.size / 2 ? 0 : 3; }

const Scenario kSubsets(
    "MpiCommDup.OfAllHasOneNameForAnythingThatPartsMakeBetween",
    [](const Who& me) {
      MPI_Comm half;
      MPI_Comm_split(MPI_COMM_WORLD, me.rank < me.size / 2 ? 7 : 3, 0, &half);
      MPI_Comm_set_name(half, "half");
      const auto make = [&](int count, const char* when) {
        for (int i = 0; i < count; ++i) {
          MPI_Comm part;
          MPI_Comm_dup(half, &part);
          name_and_use(part, text("part %s %d", when, i));
          MPI_Comm_free(&part);
        }
      };
      make(made_before(me), "before");
      MPI_Comm all;
      MPI_Comm_dup(MPI_COMM_WORLD, &all);
      name_and_use(all, "first of all");
      MPI_Comm_free(&all);
      make(made_after(me), "after");
      MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &all);
      name_and_use(all, "second of all");
      MPI_Comm_free(&all);
      MPI_Comm_free(&half);
    },
    [](const Who& me) -> Lines {
      Lines lines = {"MPI_Comm_split on world | coll #0 sent 0 received 0; created half",
                     "MPI_Comm_set_name on half"};
      int number = 0;
      const auto make = [&](int count, const char* when) {
        for (int i = 0; i < count; ++i) {
          const std::string name = text("part %s %d", when, i);
          lines.push_back(
              text("MPI_Comm_dup on half | coll #%d sent 0 received 0; created ", number++) + name);
          lines += used(name);
          lines.push_back("MPI_Comm_free on " + name + " | ended " + name);
        }
      };
      make(made_before(me), "before");
      lines.emplace_back("MPI_Comm_dup on world | coll #1 sent 0 received 0; created first of all");
      lines += used("first of all");
      lines.emplace_back("MPI_Comm_free on first of all | ended first of all");
      make(made_after(me), "after");
      lines.emplace_back(
          "MPI_Comm_split on world | coll #2 sent 0 received 0; created second of all");
      lines += used("second of all");
      lines += {"MPI_Comm_free on second of all | ended second of all",
                "MPI_Comm_free on half | ended half"};
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      const int size = run.rank_count();
      for (int rank = 0; rank < size; ++rank) {
        for (const char* name : {"first of all", "second of all"}) {
          EXPECT_EQ(run.comm(rank, name).global_name, run.comm(0, name).global_name)
              << name << " on rank " << rank;
        }
        const int first_of_half = rank < size / 2 ? 0 : size / 2;
        EXPECT_EQ(run.comm(rank, "half").global_name, run.comm(first_of_half, "half").global_name);
      }
      EXPECT_NE(run.comm(0, "first of all").global_name, run.comm(0, "second of all").global_name);
    });

const std::string kLong(200, 'n');

/// MPI keeps MPI_MAX_OBJECT_NAME - 1 bytes of a name. MPI-4.1 §7.8. The last of its file: the world
/// keeps its new name.
const Scenario kNames(
    "MpiCommSetName.OfAnyLengthAndOfThePredefined",
    [](const Who&) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_SELF, &comm);
      MPI_Comm_set_name(comm, kLong.c_str());
      std::array<char, MPI_MAX_OBJECT_NAME> name{};
      int length = -1;
      MPI_Comm_get_name(comm, name.data(), &length);
      expect(length == MPI_MAX_OBJECT_NAME - 1 && name.data() == kLong.substr(0, at(length)),
             "MPI cuts it");
      MPI_Comm_set_name(MPI_COMM_WORLD, "everybody");
      MPI_Comm_set_name(MPI_COMM_SELF, "myself");
      MPI_Comm_get_name(MPI_COMM_WORLD, name.data(), &length);
      expect(std::strcmp(name.data(), "everybody") == 0, "the world's new name");
      MPI_Comm_free(&comm);
    },
    [](const Who&) -> Lines {
      const std::string name = kLong.substr(0, MPI_MAX_OBJECT_NAME - 1);
      return {"MPI_Comm_dup on self | coll #0 sent 0 received 0; created " + name,
              "MPI_Comm_set_name on " + name,
              "MPI_Comm_get_name on " + name,
              "MPI_Comm_set_name on world",
              "MPI_Comm_set_name on self",
              "MPI_Comm_get_name on world",
              "MPI_Comm_free on " + name + " | ended " + name};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(run.comm(rank, "world").name, "everybody");
        EXPECT_EQ(run.comm(rank, "self").name, "myself");
      }
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
