#include "mpi_layer/table/selection.h"

#include "mpi_layer/table/regions.h"

#include <gtest/gtest.h>

#include <set>

namespace megascope::mpi {
namespace {

bool is_recorded(Fn fn) { return (g_selected[static_cast<unsigned>(fn)] & kRecords) != 0; }
bool is_looked_at(Fn fn) { return g_selected[static_cast<unsigned>(fn)] != 0; }

class Selection : public testing::Test {
 protected:
  void SetUp() override { select_functions({"default"}); }
  void TearDown() override { select_functions({"default"}); }
};

TEST_F(Selection, DefaultLeavesOutConversionsClockAndToolFunctions) {
  EXPECT_TRUE(is_recorded(Fn::Send));
  EXPECT_TRUE(is_recorded(Fn::File_open));
  for (const Fn fn : {Fn::Status_c2f, Fn::Wtime, Fn::Wtick, Fn::T_init_thread})
    EXPECT_FALSE(is_looked_at(fn));
}

TEST_F(Selection, LeavesOutWhatHasAMinus) {
  EXPECT_TRUE(select_functions({"-MPI_Iprobe", "-mpi_test*", "-coll"}).empty());
  for (const Fn fn :
       {Fn::Iprobe, Fn::Test, Fn::Testall, Fn::Test_cancelled, Fn::Barrier, Fn::Iallreduce}) {
    EXPECT_FALSE(is_looked_at(fn)) << mpi_name(fn);
  }
  for (const Fn fn : {Fn::Send, Fn::Wait, Fn::Comm_dup, Fn::Probe})
    EXPECT_TRUE(is_recorded(fn)) << mpi_name(fn);
}

TEST_F(Selection, RecordsNothingElseThanWhatIsNamedFirst) {
  EXPECT_TRUE(select_functions({"p2p", "MPI_Wait*", "-MPI_Recv", "time"}).empty());
  for (const Fn fn : {Fn::Send, Fn::Waitall, Fn::Wtime})
    EXPECT_TRUE(is_recorded(fn)) << mpi_name(fn);
  for (const Fn fn : {Fn::Recv, Fn::Test, Fn::Bcast, Fn::Wait, Fn::Status_c2f}) {
    EXPECT_EQ(is_recorded(fn), fn == Fn::Wait) << mpi_name(fn);
  }
}

TEST_F(Selection, KeepsLedgersOfWhatMakesHandlesAndAlwaysRecordsTheEnds) {
  EXPECT_TRUE(select_functions({"none"}).empty());
  for (const Fn fn : {Fn::Init, Fn::Init_thread, Fn::Finalize, Fn::Abort})
    EXPECT_TRUE(is_recorded(fn)) << mpi_name(fn);
  for (const Fn fn : {Fn::Comm_dup, Fn::Cart_create, Fn::Comm_free, Fn::Type_free, Fn::Win_create,
                      Fn::File_open}) {
    EXPECT_FALSE(is_recorded(fn)) << mpi_name(fn);
    EXPECT_TRUE(is_looked_at(fn)) << mpi_name(fn);
  }
  EXPECT_FALSE(is_looked_at(Fn::Barrier));
}

TEST_F(Selection, AllIsEveryFunction) {
  select_functions({"all", "-MPI_T_*"});
  std::set<std::string> out;
  for (unsigned i = 1; i < kFnEnd; ++i) {
    if (!is_recorded(static_cast<Fn>(i))) out.insert(mpi_name(static_cast<Fn>(i)));
  }
  for (const std::string& name : out) EXPECT_TRUE(name.starts_with("MPI_T_")) << name;
  EXPECT_EQ(out.contains("MPI_T_init_thread"), true);
}

TEST_F(Selection, SaysWhatItDoesNotKnow) {
  const std::vector<std::string> problems = select_functions({"-MPI_Iprob", "p2p", "colll"});
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0],
            "MEGASCOPE_MPI: -MPI_Iprob is neither a function nor a group and is ignored: did "
            "you mean MPI_Iprobe?");
  EXPECT_EQ(problems[1],
            "MEGASCOPE_MPI: colll is neither a function nor a group and is ignored: did you "
            "mean coll?");
  EXPECT_TRUE(is_recorded(Fn::Bcast));
}

TEST_F(Selection, ATypingErrorIsNoRequestToRecordNothing) {
  EXPECT_EQ(select_functions({"MPI_Sned"}).size(), 1U);
  EXPECT_TRUE(is_recorded(Fn::Recv));
}

TEST_F(Selection, RecordsWhenMessagesCannotBeMatchedByOrder) {
  select_functions({"-coll"});
  EXPECT_FALSE(leaves_out_messages());
  select_functions({"-MPI_Isend"});
  EXPECT_TRUE(leaves_out_messages());
}

}  // namespace
}  // namespace megascope::mpi
