// Runs the passes over loops on the programs in tests/cpp/loop_text (tests/cpp/text_cases.h), and reads texts that are
// wrong.
#include <gmock/gmock.h>

#include <map>

#include "jit/loop/check.h"
#include "jit/loop/parse.h"
#include "jit/loop/passes/sums.h"
#include "jit/schedule/buffers.h"
#include "jit/schedule/gather_in_blocks.h"
#include "jit/schedule/merge.h"
#include "jit/schedule/order.h"
#include "jit/schedule/read_before_update.h"
#include "jit/schedule/split_rows.h"
#include "jit/schedule/use_in_blocks.h"
#include "runtime/error.h"
#include "tests/cpp/text_cases.h"

namespace ct::loop {
namespace {

std::string run(const text_cases::Case& test) {
  static const std::map<std::string, void (*)(Program&)> passes = {
      {"order_loops", jit::order_loops},
      {"merge_loops", jit::merge_loops},
      {"read_before_update", jit::read_before_update},
      {"split_long_sums", jit::split_long_sums},
      {"split_rows", jit::split_rows},
      {"gather_in_blocks", jit::gather_in_blocks},
      {"use_in_blocks", jit::use_in_blocks},
      {"assign_buffers", [](Program& program) { jit::assign_buffers(program); }},
      // What was split stays in the program as a block that nothing runs.
      {"split_rows_and_assign_buffers",
       [](Program& program) {
         jit::split_rows(program);
         jit::read_before_update(program);
         jit::assign_buffers(program);
       }},
      {"assign_buffers_and_results",
       [](Program& program) {
         const jit::Donated donated;
         jit::assign_buffers(program, &donated);
       }},
  };
  Program program = parse(test.input, "input");
  EXPECT_EQ(check(program), "");
  passes.at(text_cases::pass_of(test).first)(program);
  EXPECT_EQ(check(program), "") << to_string(program);
  const std::string text = to_string(program);
  EXPECT_EQ(to_string(parse(text)), text);
  return text;
}

TEST(LoopText, Passes) { EXPECT_GT(text_cases::run_all("loop_text", run), 7); }

std::string error_of(const std::string& text) {
  try {
    parse(text, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string error_in(const std::string& statements) {
  return error_of("program p (arena 0 bytes)\n  buffer in0 : float32[4]\n  buffer out0 : float32[4]\n" + statements);
}

TEST(LoopText, ErrorsSayWhere) {
  using testing::HasSubstr;
  EXPECT_EQ(error_in("  for %0 < 4\n    %1 : float32 = load in0[%0]\n    store out0[%0] = %1\n"), "");
  EXPECT_THAT(error_of("graph () {} -> ()"), HasSubstr("f:1:1: expected 'program' at the beginning"));
  EXPECT_THAT(error_of("program p (arena 8 bytes)\n  buffer temp3@0 : int64[1]"),
              HasSubstr("f:2:10: 'temp3@0' is number 0 of the buffers"));
  EXPECT_THAT(error_of("program p (arena 0 bytes)\n  buffer const0 : int8[1] = \"0\""), HasSubstr("f:2:29: the bytes"));
  EXPECT_THAT(error_in("  store out1[0] = %0"), HasSubstr("f:4:9: there is no buffer 'out1'"));
  EXPECT_THAT(error_in("  store out0[0] = %0"), HasSubstr("f:4:19: %0 is not defined before this line"));
  EXPECT_THAT(error_in("  %0 : float32 = 1\n  %0 : float32 = 2"), HasSubstr("f:5:3: %0 is defined twice"));
  EXPECT_THAT(error_in("  %0 : float32 = 1\n  %1 : float32 = cosine %0"), HasSubstr("no instruction 'cosine'"));
  EXPECT_THAT(error_in("  %0 : float32 = 1\n  %1 : float32 = add %0"),
              HasSubstr("f:5:24: expected ',' before operand 1"));
  EXPECT_THAT(error_in("  for %0 < 4\n      %1 : float32 = 1"), HasSubstr("f:5:7: unexpected '%' here"));
  EXPECT_THAT(error_in("  %0 : float32 = 1 2"), HasSubstr("f:4:20: unexpected '2' here"));
  EXPECT_THAT(error_in("  %0 : float32 = 0\n  for %1 < 4 carry %2 = add from %0\n    %3 : float32 = 1\n"),
              HasSubstr("expected 'yield'"));
  EXPECT_THAT(error_in("  gemm 2x2 out0[0] strides (2, 1) = in0[0] strides (2, 1) @ in0[0] strides (2, 1)"),
              HasSubstr("f:4:8: expected the sizes of a product"));
  EXPECT_THAT(error_in("  repeat %0 < 4"), HasSubstr("f:4:3: there is no statement 'repeat'"));
}

}  // namespace
}  // namespace ct::loop
