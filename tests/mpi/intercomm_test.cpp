#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

/// Intercommunicators and what is made from them. One group has the even world ranks, the other the
/// odd ones, the highest first. Peers on an intercommunicator are ranks in the other group.
namespace megascope::mpitest {
namespace {

using Ranks = std::vector<std::int32_t>;

bool is_even(const Who& me) { return me.rank % 2 == 0; }
int group_size(const Who& me) { return me.size / 2; }
/// Of a world rank in its group.
int group_rank(const Who& me) {
  return is_even(me) ? me.rank / 2 : group_size(me) - 1 - me.rank / 2;
}

Ranks evens(const Recorded& run) { return run.rank_count() == 2 ? Ranks{0} : Ranks{0, 2}; }
Ranks odds(const Recorded& run) { return run.rank_count() == 2 ? Ranks{1} : Ranks{3, 1}; }

void expect_inter(const Recorded& run, int rank, const char* name, const Ranks& even_side,
                  const Ranks& odd_side) {
  const CommDefinition comm = run.comm(rank, name);
  EXPECT_EQ(comm.kind, CommKind::kInter) << name;
  EXPECT_EQ(expand(comm.members), rank % 2 == 0 ? even_side : odd_side)
      << name << " on rank " << rank;
  EXPECT_EQ(expand(comm.remote_members), rank % 2 == 0 ? odd_side : even_side)
      << name << " on rank " << rank;
}

/// tag: also tells the names of one scenario from those of others.
MPI_Comm make_inter(const Who& me, int tag, MPI_Comm* group = nullptr) {
  MPI_Comm mine;
  MPI_Comm inter;
  MPI_Comm_split(MPI_COMM_WORLD, me.rank % 2, is_even(me) ? me.rank : -me.rank, &mine);
  MPI_Comm_set_name(mine, text("group %d", tag).c_str());
  const int remote_leader = is_even(me) ? me.size - 1 : 0;
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, remote_leader, tag, &inter);
  MPI_Comm_set_name(inter, text("inter %d", tag).c_str());
  if (group == nullptr)
    MPI_Comm_free(&mine);
  else
    *group = mine;
  return inter;
}
Lines make_lines(int tag, const Lines& then) {
  Lines lines = {text("MPI_Comm_split on world | coll #0 sent 0 received 0; created group %d", tag),
                 text("MPI_Comm_set_name on group %d", tag),
                 text("MPI_Intercomm_create on group %d | created inter %d", tag, tag),
                 text("MPI_Comm_set_name on inter %d", tag)};
  lines.insert(lines.end(), then.begin(), then.end());
  return lines;
}

const Scenario kCreate(
    "MpiIntercommCreate.HasTwoGroups",
    [](const Who& me) {
      MPI_Comm inter = make_inter(me, 1);
      int value = -1;
      MPI_Comm_test_inter(inter, &value);
      expect(value != 0, "two groups");
      MPI_Comm_remote_size(inter, &value);
      expect(value == group_size(me), "the other group's size");
      MPI_Group group;
      MPI_Comm_remote_group(inter, &group);
      MPI_Group_free(&group);
      // To and from the rank with the same number in the other group, in all ways of naming it.
      const int peer = group_rank(me);
      int out = 1;
      std::array<int, 4> in{};
      MPI_Request request;
      MPI_Irecv(in.data(), 4, MPI_INT, MPI_ANY_SOURCE, 6, inter, &request);
      MPI_Send(&out, 1, MPI_INT, peer, 6, inter);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Sendrecv(&out, 1, MPI_INT, peer, 7, in.data(), 4, MPI_INT, peer, 7, inter,
                   MPI_STATUS_IGNORE);
      MPI_Comm_free(&inter);
    },
    [](const Who& me) {
      const int peer = group_rank(me);
      return make_lines(
          1, {"MPI_Comm_free on group 1 | ended group 1", "MPI_Comm_test_inter on inter 1",
              "MPI_Comm_remote_size on inter 1", "MPI_Comm_remote_group on inter 1",
              "MPI_Group_free", "MPI_Irecv on inter 1 | irecv r1 from any tag 6 space 16",
              text("MPI_Send on inter 1 | send to %d tag 6 bytes 4", peer),
              text("MPI_Wait | received r1 in inter 1 from %d tag 6 bytes 4", peer),
              text("MPI_Sendrecv on inter 1 | send to %d tag 7 bytes 4; recv from %d tag 7 bytes 4",
                   peer, peer),
              "MPI_Comm_free on inter 1 | ended inter 1"});
    },
    {2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        expect_inter(run, rank, "inter 1", evens(run), odds(run));
        EXPECT_EQ(run.comm(rank, "inter 1").my_rank, group_rank({rank, run.rank_count()}));
        EXPECT_EQ(run.comm(rank, "inter 1").parent, run.comm(rank, "group 1").id);
      }
    });

/// Two between the same groups with the same tag are two.
const Scenario kTwice(
    "MpiIntercommCreate.MakesAnotherEachTime",
    [](const Who& me) {
      MPI_Comm group;
      MPI_Comm first = make_inter(me, 2, &group);
      MPI_Comm second;
      MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_even(me) ? me.size - 1 : 0, 2, &second);
      MPI_Comm_set_name(second, "inter 2 again");
      MPI_Barrier(first);
      MPI_Barrier(second);
      for (MPI_Comm* comm : {&first, &second, &group}) MPI_Comm_free(comm);
    },
    [](const Who& me) {
      return make_lines(2, {text("MPI_Intercomm_create on group 2 | created inter 2 again "
                                 "{local_leader 0, remote_leader %d, message_tag 2}",
                                 is_even(me) ? me.size - 1 : 0),
                            "MPI_Comm_set_name on inter 2 again",
                            "MPI_Barrier on inter 2 | coll #0 sent 0 received 0",
                            "MPI_Barrier on inter 2 again | coll #0 sent 0 received 0",
                            "MPI_Comm_free on inter 2 | ended inter 2",
                            "MPI_Comm_free on inter 2 again | ended inter 2 again",
                            "MPI_Comm_free on group 2 | ended group 2"});
    },
    {2, 4});

const Scenario kMerge(
    "MpiIntercommMerge.HasTheLowGroupFirst",
    [](const Who& me) {
      MPI_Comm inter = make_inter(me, 3);
      MPI_Comm one;
      MPI_Intercomm_merge(inter, is_even(me) ? 1 : 0, &one);  // the odd ranks come first
      MPI_Comm_set_name(one, "merged");
      int rank = -1;
      MPI_Comm_rank(one, &rank);
      expect(rank == (is_even(me) ? group_size(me) : 0) + group_rank(me), "the place in the order");
      MPI_Barrier(one);
      MPI_Comm_free(&one);
      MPI_Comm_free(&inter);
    },
    [](const Who& me) {
      return make_lines(3, {"MPI_Comm_free on group 3 | ended group 3",
                            text("MPI_Intercomm_merge on inter 3 | coll #0 sent 0 received 0; "
                                 "created merged {high %d}",
                                 is_even(me) ? 1 : 0),
                            "MPI_Comm_set_name on merged", "MPI_Comm_rank on merged",
                            "MPI_Barrier on merged | coll #0 sent 0 received 0",
                            "MPI_Comm_free on merged | ended merged",
                            "MPI_Comm_free on inter 3 | ended inter 3"});
    },
    {2, 4},
    [](const Recorded& run) {
      const Ranks members = run.rank_count() == 2 ? Ranks{1, 0} : Ranks{3, 1, 0, 2};
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(expand(run.comm(rank, "merged").members), members);
        EXPECT_EQ(run.comm(rank, "merged").kind, CommKind::kIntra);
      }
    });

const Scenario kDup(
    "MpiCommDup.OfAnIntercommunicatorHasItsTwoGroups",
    [](const Who& me) {
      MPI_Comm inter = make_inter(me, 4);
      MPI_Comm dup;
      MPI_Comm idup;
      MPI_Request request;
      MPI_Comm_dup(inter, &dup);
      MPI_Comm_set_name(dup, "dup of inter");
      MPI_Comm_idup(inter, &idup, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Comm_set_name(idup, "idup of inter");
      for (MPI_Comm comm : {dup, idup}) MPI_Barrier(comm);
      for (MPI_Comm* comm : {&dup, &idup, &inter}) MPI_Comm_free(comm);
    },
    [](const Who&) {
      return make_lines(
          4, {"MPI_Comm_free on group 4 | ended group 4",
              "MPI_Comm_dup on inter 4 | coll #0 sent 0 received 0; created dup of inter",
              "MPI_Comm_set_name on dup of inter",
              "MPI_Comm_idup on inter 4 | icoll r1 #1 sent 0 received 0; created idup of inter",
              "MPI_Wait | done r1 in inter 4 #1 sent 0 received 0",
              "MPI_Comm_set_name on idup of inter",
              "MPI_Barrier on dup of inter | coll #0 sent 0 received 0",
              "MPI_Barrier on idup of inter | coll #0 sent 0 received 0",
              "MPI_Comm_free on dup of inter | ended dup of inter",
              "MPI_Comm_free on idup of inter | ended idup of inter",
              "MPI_Comm_free on inter 4 | ended inter 4"});
    },
    {2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        for (const char* name : {"dup of inter", "idup of inter"})
          expect_inter(run, rank, name, evens(run), odds(run));
      }
    });

/// To the rank of the other group that has the sender's place in its own.
const Scenario kProbe(
    "MpiProbe.OnAnIntercommunicatorTellsTheRankInTheOtherGroup",
    [](const Who& me) {
      MPI_Comm inter = make_inter(me, 6);
      const int place = group_rank(me);
      int value = 0;
      MPI_Request request;
      MPI_Isend(&value, 1, MPI_INT, place, 7, inter, &request);
      MPI_Probe(MPI_ANY_SOURCE, 7, inter, MPI_STATUS_IGNORE);
      MPI_Recv(&value, 1, MPI_INT, place, 7, inter, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Comm_free(&inter);
    },
    [](const Who& me) {
      const int place = group_rank(me);
      return make_lines(6, {"MPI_Comm_free on group 6 | ended group 6",
                            text("MPI_Isend on inter 6 | isend r1 to %d tag 7 bytes 4", place),
                            text("MPI_Probe on inter 6 | found from %d tag 7 bytes 4", place),
                            text("MPI_Recv on inter 6 | recv from %d tag 7 bytes 4", place),
                            "MPI_Wait | sent r1", "MPI_Comm_free on inter 6 | ended inter 6"});
    },
    {2, 4});

/// Ranks 0 and 3 make one, 2 and 1 another: by color and by group.
const Scenario kParts(
    "MpiCommSplit.OfAnIntercommunicatorSplitsBothGroups",
    [](const Who& me) {
      MPI_Comm inter = make_inter(me, 5);
      MPI_Comm part;
      MPI_Comm_split(inter, group_rank(me), 0, &part);
      MPI_Comm_set_name(part, "part");
      MPI_Barrier(part);
      MPI_Comm_free(&part);
      MPI_Group mine;
      MPI_Group first;
      MPI_Comm_group(inter, &mine);
      const int zero = 0;
      MPI_Group_incl(mine, 1, &zero, &first);
      MPI_Comm firsts;
      MPI_Comm_create(inter, first, &firsts);
      expect((firsts != MPI_COMM_NULL) == (group_rank(me) == 0), "the first of each group");
      if (firsts != MPI_COMM_NULL) {
        MPI_Comm_set_name(firsts, "firsts");
        MPI_Comm_free(&firsts);
      }
      MPI_Group_free(&first);
      MPI_Group_free(&mine);
      MPI_Comm_free(&inter);
    },
    [](const Who& me) {
      const bool is_first = group_rank(me) == 0;
      Lines then = {"MPI_Comm_free on group 5 | ended group 5",
                    "MPI_Comm_split on inter 5 | coll #0 sent 0 received 0; created part",
                    "MPI_Comm_set_name on part",
                    "MPI_Barrier on part | coll #0 sent 0 received 0",
                    "MPI_Comm_free on part | ended part",
                    "MPI_Comm_group on inter 5",
                    "MPI_Group_incl",
                    std::string("MPI_Comm_create on inter 5 | coll #1 sent 0 received 0") +
                        (is_first ? "; created firsts" : "")};
      if (is_first) {
        then.insert(then.end(),
                    {"MPI_Comm_set_name on firsts", "MPI_Comm_free on firsts | ended firsts"});
      }
      then.insert(then.end(),
                  {"MPI_Group_free", "MPI_Group_free", "MPI_Comm_free on inter 5 | ended inter 5"});
      return make_lines(5, then);
    },
    {2, 4},
    [](const Recorded& run) {
      const int last = run.rank_count() - 1;
      for (const int rank : {0, last}) {
        expect_inter(run, rank, "part", {0}, {last});
        expect_inter(run, rank, "firsts", {0}, {last});
      }
      for (int rank = 1; rank < last; ++rank) expect_inter(run, rank, "part", {2}, {1});
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
