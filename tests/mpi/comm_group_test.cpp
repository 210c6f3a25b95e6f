#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

/// Groups, and communicators made from them: by all ranks of a communicator, and by the members
/// alone.
namespace megascope::mpitest {
namespace {

using Ranks = std::vector<std::int32_t>;

MPI_Group group_of(const std::vector<int>& ranks) {
  MPI_Group world;
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&world);
  return group;
}
const Lines kGroupOf = {"MPI_Comm_group on world", "MPI_Group_incl", "MPI_Group_free"};

Lines operator+(Lines lines, const Lines& others) {
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

/// Gives a communicator its name, uses it, ends it.
void name_use_and_free(MPI_Comm comm, const char* name) {
  MPI_Comm_set_name(comm, name);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
}
Lines used(const std::string& name) {
  return {"MPI_Comm_set_name on " + name, "MPI_Barrier on " + name + " | coll #0 sent 0 received 0",
          "MPI_Comm_free on " + name + " | ended " + name};
}

/// The ranks with the parity of `rank`, the highest first.
std::vector<int> alike(const Who& me) {
  std::vector<int> ranks;
  for (int i = me.size - 1; i >= 0; --i) {
    if (i % 2 == me.rank % 2) ranks.push_back(i);
  }
  return ranks;
}

const Scenario kGroups(
    "MpiGroupIncl.AndOtherFunctionsOfGroupsAreCallsWithoutCommunicator",
    [](const Who& me) {
      MPI_Group world;
      MPI_Comm_group(MPI_COMM_WORLD, &world);
      int value = -1;
      MPI_Group_size(world, &value);
      expect(value == me.size, "the size");
      MPI_Group_rank(world, &value);
      expect(value == me.rank, "the rank");
      const int first = 0;
      MPI_Group only_first;
      MPI_Group others;
      MPI_Group made;
      MPI_Group_incl(world, 1, &first, &only_first);
      MPI_Group_excl(world, 1, &first, &others);
      MPI_Group_union(only_first, others, &made);
      MPI_Group_compare(made, world, &value);
      expect(value == MPI_IDENT, "the whole again");
      MPI_Group_free(&made);
      MPI_Group_intersection(only_first, others, &made);
      expect(made == MPI_GROUP_EMPTY, "nothing in common");
      MPI_Group_difference(world, others, &made);
      MPI_Group_translate_ranks(made, 1, &first, world, &value);
      expect(value == 0, "the first");
      MPI_Group_free(&made);
      int range[1][3] = {{0, me.size - 1, 1}};
      MPI_Group_range_incl(world, 1, range, &made);
      MPI_Group_free(&made);
      MPI_Group_range_excl(world, 1, range, &made);
      expect(made == MPI_GROUP_EMPTY, "no rank is left");
      for (MPI_Group* group : {&only_first, &world}) MPI_Group_free(group);
      if (others != MPI_GROUP_EMPTY) MPI_Group_free(&others);
    },
    [](const Who& me) -> Lines {
      const std::string all = text(" {members %d}", me.size);
      Lines lines = {"MPI_Comm_group on world",
                     "MPI_Group_size" + all,
                     text("MPI_Group_rank {rank %d}", me.rank),
                     "MPI_Group_incl {members 1}",
                     text("MPI_Group_excl {members %d}", me.size - 1),
                     "MPI_Group_union" + all,
                     "MPI_Group_compare {comparison 0}",
                     "MPI_Group_free",
                     "MPI_Group_intersection {members 0}",
                     "MPI_Group_difference {members 1}",
                     "MPI_Group_translate_ranks",
                     "MPI_Group_free",
                     "MPI_Group_range_incl" + all,
                     "MPI_Group_free",
                     "MPI_Group_range_excl {members 0}",
                     "MPI_Group_free",
                     "MPI_Group_free"};
      if (me.size > 1) lines.emplace_back("MPI_Group_free");
      return lines;
    });

/// The last and the first rank, in that order; then the even and the odd ranks in one call.
const Scenario kCreate(
    "MpiCommCreate.IsCollectiveOverAllAndMadeForMembers",
    [](const Who& me) {
      const bool is_member = me.rank == 0 || me.rank == me.size - 1;
      MPI_Group ends = group_of(me.size == 1 ? std::vector{0} : std::vector{me.size - 1, 0});
      MPI_Comm comm;
      MPI_Comm_create(MPI_COMM_WORLD, ends, &comm);
      expect((comm != MPI_COMM_NULL) == is_member, "for members");
      if (comm != MPI_COMM_NULL) name_use_and_free(comm, "ends");
      MPI_Group_free(&ends);
      MPI_Group mine = group_of(alike(me));
      MPI_Comm_create(MPI_COMM_WORLD, mine, &comm);
      MPI_Group_free(&mine);
      name_use_and_free(comm, "alike");
    },
    [](const Who& me) -> Lines {
      const bool is_member = me.rank == 0 || me.rank == me.size - 1;
      const std::string creates = "MPI_Comm_create on world | coll #";
      Lines lines = kGroupOf +
                    Lines{creates + "0 sent 0 received 0" + (is_member ? "; created ends" : "")};
      if (is_member) lines = lines + used("ends");
      return lines + Lines{"MPI_Group_free"} + kGroupOf +
             Lines{creates + "1 sent 0 received 0; created alike"} + Lines{"MPI_Group_free"} +
             used("alike");
    },
    {1, 2, 4},
    [](const Recorded& run) {
      if (run.rank_count() != 4) return;
      for (const int rank : {0, 3}) {
        EXPECT_EQ(expand(run.comm(rank, "ends").members), (Ranks{3, 0}));
        EXPECT_EQ(run.comm(rank, "ends").my_rank, rank == 3 ? 0 : 1);
      }
      for (int rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(expand(run.comm(rank, "alike").members),
                  rank % 2 == 0 ? (Ranks{2, 0}) : (Ranks{3, 1}));
      }
    });

/// The even and the odd ranks make one each, twice in the same order with the same tag; then all
/// together, with that tag. In between rank 0 alone makes some, so that ranks do not count alike.
const Scenario kCreateGroup(
    "MpiCommCreateGroup.IsAgreedByItsMembersAlone",
    [](const Who& me) {
      MPI_Group mine = group_of(alike(me));
      MPI_Comm comm;
      MPI_Comm_create_group(MPI_COMM_WORLD, mine, 5, &comm);
      name_use_and_free(comm, "alike, first");
      if (me.rank == 0) {
        MPI_Group myself = group_of({0});
        for (const int tag : {5, 5, 6}) {
          MPI_Comm_create_group(MPI_COMM_WORLD, myself, tag, &comm);
          name_use_and_free(comm, "mine");
        }
        MPI_Group_free(&myself);
      }
      MPI_Comm_create_group(MPI_COMM_WORLD, mine, 5, &comm);
      name_use_and_free(comm, "alike, second");
      MPI_Group_free(&mine);
      MPI_Group all;
      MPI_Comm_group(MPI_COMM_WORLD, &all);
      MPI_Comm_create_group(MPI_COMM_WORLD, all, 5, &comm);
      name_use_and_free(comm, "all");
      MPI_Group_free(&all);
    },
    [](const Who& me) -> Lines {
      const std::string creates = "MPI_Comm_create_group on world | created ";
      Lines lines = kGroupOf + Lines{creates + "alike, first {message_tag 5}"} +
                    used("alike, first");
      if (me.rank == 0) {
        lines = lines + kGroupOf;
        for (int i = 0; i < 3; ++i) lines = lines + Lines{creates + "mine"} + used("mine");
        lines.emplace_back("MPI_Group_free");
      }
      return lines + Lines{creates + "alike, second"} + used("alike, second") +
             Lines{"MPI_Group_free", "MPI_Comm_group on world", creates + "all"} + used("all") +
             Lines{"MPI_Group_free"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_NE(run.comm(rank, "alike, first").global_name,
                  run.comm(rank, "alike, second").global_name);
        EXPECT_EQ(run.comm(rank, "alike, first").global_name,
                  run.comm(rank % 2, "alike, first").global_name);
        EXPECT_EQ(run.comm(rank, "alike, second").global_name,
                  run.comm(rank % 2, "alike, second").global_name);
        EXPECT_EQ(run.comm(rank, "all").global_name, run.comm(0, "all").global_name);
        EXPECT_EQ(expand(run.comm(rank, "all").members).size(),
                  static_cast<std::size_t>(run.rank_count()));
      }
    });

/// Ranks make the same communicators, but the lower half makes the pair of its own before and the
/// upper half after.
const Scenario kOrder(
    "MpiCommCreateGroup.GivesTheSameNamesInAnyOrderOfOthers",
    [](const Who& me) {
      const bool is_low = me.rank < me.size / 2;
      std::vector<int> half;
      for (int i = 0; i < me.size / 2; ++i) half.push_back(is_low ? i : me.size / 2 + i);
      MPI_Group mine = group_of(half);
      MPI_Group all;
      MPI_Comm_group(MPI_COMM_WORLD, &all);
      MPI_Comm comm;
      for (const bool is_for_half : {is_low, !is_low}) {
        MPI_Comm_create_group(MPI_COMM_WORLD, is_for_half ? mine : all, 8, &comm);
        name_use_and_free(comm, is_for_half ? "half" : "whole");
      }
      MPI_Group_free(&mine);
      MPI_Group_free(&all);
    },
    [](const Who& me) -> Lines {
      const std::string creates = "MPI_Comm_create_group on world | created ";
      const Lines half = Lines{creates + "half"} + used("half");
      const Lines whole = Lines{creates + "whole"} + used("whole");
      const bool is_low = me.rank < me.size / 2;
      return kGroupOf + Lines{"MPI_Comm_group on world"} + (is_low ? half + whole : whole + half) +
             Lines{"MPI_Group_free", "MPI_Group_free"};
    },
    {2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(run.comm(rank, "whole").global_name, run.comm(0, "whole").global_name);
      }
      EXPECT_NE(run.comm(0, "half").global_name,
                run.comm(run.rank_count() - 1, "half").global_name);
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
