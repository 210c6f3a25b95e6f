#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

/// Communicators made from one communicator: duplicates, parts, names, ends, queries.
/// Anything that happens on one of them shows which it is: by its name, and by counting its
/// collectives from #0.
namespace megascope::mpitest {
namespace {

using Ranks = std::vector<std::int32_t>;

/// Gives a communicator its name, and uses it once.
void name_and_use(MPI_Comm comm, const char* name) {
  MPI_Comm_set_name(comm, name);
  MPI_Barrier(comm);
}
void add_named_and_used(Lines& lines, const char* name) {
  lines.push_back(text("MPI_Comm_set_name on %s", name));
  lines.push_back(text("MPI_Barrier on %s | coll #0 sent 0 received 0", name));
}

/// The communicator of that name, as a rank knows it. Everybody's comm of kWorld is the parent.
void expect_comm(const Recorded& run, int rank, const char* name, const Ranks& members,
                 int my_rank) {
  const CommDefinition comm = run.comm(rank, name);
  EXPECT_EQ(comm.kind, CommKind::kIntra) << name;
  EXPECT_EQ(expand(comm.members), members) << name << " on rank " << rank;
  EXPECT_EQ(comm.my_rank, my_rank) << name << " on rank " << rank;
  EXPECT_EQ(comm.parent, run.comm(rank, "world").id) << name;
  EXPECT_TRUE(comm.remote_members.empty());
}

Ranks all_ranks(const Recorded& run) {
  Ranks ranks;
  for (int i = 0; i < run.rank_count(); ++i) ranks.push_back(i);
  return ranks;
}

const Scenario kDuplicates(
    "MpiCommDup.MakesACommunicatorOfItsOwn",
    [](const Who&) {
      MPI_Comm dup;
      MPI_Comm_dup(MPI_COMM_WORLD, &dup);
      name_and_use(dup, "dup");
      MPI_Info info;
      MPI_Info_create(&info);
      MPI_Comm with_info;
      MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with_info);
      MPI_Info_free(&info);
      name_and_use(with_info, "dup with info");
      MPI_Comm idup;
      MPI_Request request;
      MPI_Comm_idup(MPI_COMM_WORLD, &idup, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      name_and_use(idup, "idup");
      MPI_Comm again;
      MPI_Comm_dup(dup, &again);
      name_and_use(again, "dup of dup");
      MPI_Comm_free(&dup);
      MPI_Comm_disconnect(&with_info);
      MPI_Comm_free(&idup);
      expect(dup == MPI_COMM_NULL && with_info == MPI_COMM_NULL && idup == MPI_COMM_NULL,
             "they are gone");
      MPI_Barrier(again);
      MPI_Comm_free(&again);
    },
    [](const Who&) -> Lines {
      Lines lines = {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created dup"};
      add_named_and_used(lines, "dup");
      lines.emplace_back("MPI_Info_create");
      lines.emplace_back(
          "MPI_Comm_dup_with_info on world | coll #1 sent 0 received 0; created dup with info");
      lines.emplace_back("MPI_Info_free");
      add_named_and_used(lines, "dup with info");
      lines.emplace_back("MPI_Comm_idup on world | icoll r1 #2 sent 0 received 0; created idup");
      lines.emplace_back("MPI_Wait | done r1 in world #2 sent 0 received 0");
      add_named_and_used(lines, "idup");
      lines.emplace_back("MPI_Comm_dup on dup | coll #1 sent 0 received 0; created dup of dup");
      add_named_and_used(lines, "dup of dup");
      lines.insert(lines.end(), {"MPI_Comm_free on dup | ended dup",
                                 "MPI_Comm_disconnect on dup with info | ended dup with info",
                                 "MPI_Comm_free on idup | ended idup",
                                 "MPI_Barrier on dup of dup | coll #1 sent 0 received 0",
                                 "MPI_Comm_free on dup of dup | ended dup of dup"});
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        for (const char* name : {"dup", "dup with info", "idup"})
          expect_comm(run, rank, name, all_ranks(run), rank);
        EXPECT_EQ(run.comm(rank, "dup of dup").parent, run.comm(rank, "dup").id);
      }
    });

/// Even and odd ranks, in descending order; then everybody but rank 0.
const Scenario kSplit(
    "MpiCommSplit.HasTheMembersOfOneColorInTheOrderOfTheirKeys",
    [](const Who& me) {
      MPI_Comm half;
      MPI_Comm_split(MPI_COMM_WORLD, me.rank % 2, -me.rank, &half);
      name_and_use(half, "half");
      int rank = -1;
      int size = -1;
      MPI_Comm_rank(half, &rank);
      MPI_Comm_size(half, &size);
      expect(size == (me.size + 1) / 2 && rank == size - 1 - me.rank / 2, "the order is reversed");
      int out = me.rank;
      int in = -1;
      MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 4, &in, 1, MPI_INT, MPI_ANY_SOURCE, 4, half,
                   MPI_STATUS_IGNORE);
      MPI_Comm rest;
      MPI_Comm_split(MPI_COMM_WORLD, me.rank == 0 ? MPI_UNDEFINED : 3, 0, &rest);
      expect((rest == MPI_COMM_NULL) == (me.rank == 0), "rank 0 is left out");
      if (rest != MPI_COMM_NULL) {
        name_and_use(rest, "rest");
        MPI_Comm_free(&rest);
      }
      MPI_Comm_free(&half);
    },
    [](const Who& me) -> Lines {
      Lines lines = {text(
          "MPI_Comm_split on world | coll #0 sent 0 received 0; created half {color %d, key %d}",
          me.rank % 2, -me.rank)};
      add_named_and_used(lines, "half");
      const int size = (me.size + 1) / 2;
      const int rank = size - 1 - me.rank / 2;
      lines.insert(
          lines.end(),
          {"MPI_Comm_rank on half", "MPI_Comm_size on half",
           text("MPI_Sendrecv on half | send to %d tag 4 bytes 4; recv from %d tag 4 bytes 4",
                (rank + 1) % size, (rank + size - 1) % size)});
      if (me.rank == 0) {
        lines.emplace_back(
            text("MPI_Comm_split on world | coll #1 sent 0 received 0 {color %d, key 0}",
                 MPI_UNDEFINED));
      } else {
        lines.emplace_back(
            "MPI_Comm_split on world | coll #1 sent 0 received 0; created rest {color 3, key 0}");
        add_named_and_used(lines, "rest");
        lines.emplace_back("MPI_Comm_free on rest | ended rest");
      }
      lines.emplace_back("MPI_Comm_free on half | ended half");
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      if (run.rank_count() != 4) return;
      expect_comm(run, 0, "half", {2, 0}, 1);
      expect_comm(run, 1, "half", {3, 1}, 1);
      expect_comm(run, 2, "half", {2, 0}, 0);
      expect_comm(run, 3, "half", {3, 1}, 0);
      EXPECT_NE(run.comm(0, "half").global_name, run.comm(1, "half").global_name);
      for (int rank = 1; rank < 4; ++rank) expect_comm(run, rank, "rest", {1, 2, 3}, rank - 1);
    });

const Scenario kSplitType(
    "MpiCommSplitType.HasTheRanksThatShareMemory",
    [](const Who& me) {
      MPI_Comm node;
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
      name_and_use(node, "node");
      MPI_Comm part;  // by rank 0 alone
      MPI_Comm_split_type(node, me.rank == 0 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0,
                          MPI_INFO_NULL, &part);
      if (me.rank == 0) {
        name_and_use(part, "part");
        MPI_Comm_free(&part);
      }
      MPI_Comm_free(&node);
    },
    [](const Who& me) -> Lines {
      Lines lines = {
          text("MPI_Comm_split_type on world | coll #0 sent 0 received 0; created node {split_type "
               "%d, key 0}",
               MPI_COMM_TYPE_SHARED)};
      add_named_and_used(lines, "node");
      lines.push_back(std::string("MPI_Comm_split_type on node | coll #1 sent 0 received 0") +
                      (me.rank == 0 ? "; created part" : ""));
      if (me.rank == 0) {
        add_named_and_used(lines, "part");
        lines.emplace_back("MPI_Comm_free on part | ended part");
      }
      lines.emplace_back("MPI_Comm_free on node | ended node");
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank)
        expect_comm(run, rank, "node", all_ranks(run), rank);
      EXPECT_EQ(expand(run.comm(0, "part").members), Ranks{0});
    });

constexpr int kRounds = 50;

const Scenario kReuse(
    "MpiCommFree.TheNextCommunicatorWithItsHandleIsAnother",
    [](const Who&) {
      std::set<MPI_Comm> handles;
      for (int i = 0; i < kRounds; ++i) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        handles.insert(comm);
        name_and_use(comm, text("round %d", i).c_str());
        MPI_Comm_free(&comm);
      }
      expect(handles.size() < kRounds, "handles come back");
    },
    [](const Who&) -> Lines {
      Lines lines;
      for (int i = 0; i < kRounds; ++i) {
        const std::string name = text("round %d", i);
        lines.push_back(text("MPI_Comm_dup on world | coll #%d sent 0 received 0; created %s", i,
                             name.c_str()));
        add_named_and_used(lines, name.c_str());
        lines.push_back(text("MPI_Comm_free on %s | ended %s", name.c_str(), name.c_str()));
      }
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      std::set<std::uint64_t> global_names;
      for (int i = 0; i < kRounds; ++i) {
        expect_comm(run, 0, text("round %d", i).c_str(), all_ranks(run), 0);
        global_names.insert(run.comm(0, text("round %d", i)).global_name);
      }
      EXPECT_EQ(global_names.size(), std::size_t{kRounds});
    });

const Scenario kNames(
    "MpiCommSetName.TheLastNameIsTheOneTold",
    [](const Who&) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_name(comm, "an early name");
      MPI_Comm_set_name(comm, "K\xC3\xBChlwasser \"7\"");
      std::array<char, MPI_MAX_OBJECT_NAME> name{};
      int length = -1;
      MPI_Comm_get_name(comm, name.data(), &length);
      expect(std::strcmp(name.data(), "K\xC3\xBChlwasser \"7\"") == 0 && length == 15,
             "the name comes back");
      MPI_Comm_get_name(MPI_COMM_WORLD, name.data(), &length);
      expect(std::strcmp(name.data(), "MPI_COMM_WORLD") == 0, "the world's name");
      MPI_Comm_get_name(MPI_COMM_SELF, name.data(), &length);
      MPI_Comm_free(&comm);
    },
    [](const Who&) -> Lines {
      const std::string name = "K\xC3\xBChlwasser \"7\"";
      return {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created " + name,
              "MPI_Comm_set_name on " + name,
              "MPI_Comm_set_name on " + name,
              "MPI_Comm_get_name on " + name,
              "MPI_Comm_get_name on world",
              "MPI_Comm_get_name on self",
              "MPI_Comm_free on " + name + " | ended " + name};
    });

const Scenario kQueries(
    "MpiCommCompare.AndOtherQueriesNameTheirCommunicator",
    [](const Who& me) {
      int value = -1;
      MPI_Info info;
      MPI_Comm_rank(MPI_COMM_WORLD, &value);
      expect(value == me.rank, "the rank");
      MPI_Comm_size(MPI_COMM_SELF, &value);
      expect(value == 1, "oneself");
      MPI_Comm_test_inter(MPI_COMM_WORLD, &value);
      expect(value == 0, "one group");
      MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &value);
      expect(value == MPI_IDENT, "the same");
      MPI_Comm_get_info(MPI_COMM_WORLD, &info);
      MPI_Comm_set_info(MPI_COMM_WORLD, info);
      MPI_Info_free(&info);
      MPI_Topo_test(MPI_COMM_WORLD, &value);
      expect(value == MPI_UNDEFINED, "no topology");
    },
    [](const Who&) -> Lines {
      return {"MPI_Comm_rank on world",
              "MPI_Comm_size on self",
              "MPI_Comm_test_inter on world",
              "MPI_Comm_compare on world {comparison 0}",
              "MPI_Comm_get_info on world",
              "MPI_Comm_set_info on world",
              "MPI_Info_free",
              "MPI_Topo_test on world {topology 0}"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
