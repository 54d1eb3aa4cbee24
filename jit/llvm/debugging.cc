#include "jit/llvm/debugging.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "runtime/text.h"

namespace ct::jit {

namespace {

// While a module is emitted a location's line is the number of its group, and its scope the one that this names.
constexpr const char* kMarks = "ct.groups";

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] != '\0' && std::strcmp(value, "0") != 0;
}

struct Line {
  std::string file;
  unsigned line = 0;
  std::string text;  // "train.py:12 (loss)", the file without folders
};

// The text of a group ends with a location_string, behind two blanks (Frame::group_name).
Line line_of(std::string_view group) {
  const size_t begin = group.rfind("  ");
  if (begin == std::string_view::npos) return {};
  const std::string_view place = group.substr(begin + 2);
  const std::string_view where = place.substr(0, place.find(" ("));
  const size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string file(where.substr(0, colon));
  return {.file = file,
          .line = static_cast<unsigned>(std::atoi(std::string(where.substr(colon + 1)).c_str())),
          .text = std::string(place.substr(file.rfind('/') + 1))};
}

std::string operations_of(std::string_view group) { return std::string(group.substr(0, group.find(" -> "))); }

class DebugInformation {
 public:
  DebugInformation(llvm::Module& module, const loop::Program& program) : module_(module), builder_(module) {
#if LLVM_VERSION_MAJOR >= 22
    const llvm::DISourceLanguageName language(llvm::dwarf::DW_LANG_Python);
#else
    const unsigned language = llvm::dwarf::DW_LANG_Python;
#endif
    // Of PTX lines are all that is wanted: with more of it the assembler makes code for debuggers.
    const auto kind = llvm::Triple(module.getTargetTriple()).isNVPTX() ? llvm::DICompileUnit::DebugDirectivesOnly
                                                                       : llvm::DICompileUnit::LineTablesOnly;
    builder_.createCompileUnit(language, file_of(""), "cotangent", true, "", 0, "", kind);
    type_ = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
    for (const std::string& group : program.groups) lines_.push_back(line_of(group));
  }

  void add(llvm::Function& function) {
    const Line* first = nullptr;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (const llvm::DebugLoc& mark = instruction.getDebugLoc(); mark && lines_[mark.getLine()].line != 0) {
        first = &lines_[mark.getLine()];
        break;
      }
    }
    const Line none;
    if (first == nullptr) first = &none;
    llvm::DISubprogram* scope = builder_.createFunction(
        file_of(first->file), function.getName(), function.getName(), file_of(first->file), first->line, type_,
        first->line, llvm::DINode::FlagArtificial, llvm::DISubprogram::SPFlagDefinition);
    function.setSubprogram(scope);
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const llvm::DebugLoc& mark = instruction.getDebugLoc();
      const Line* line = mark ? &lines_[mark.getLine()] : first;
      if (line->line == 0) line = first;
      llvm::DIScope* where = scope;
      if (line->file != first->file) where = builder_.createLexicalBlockFile(scope, file_of(line->file));
      instruction.setDebugLoc(llvm::DILocation::get(module_.getContext(), line->line, 0, where));
    }
  }

  void finish() {
    if (llvm::NamedMDNode* marks = module_.getNamedMetadata(kMarks)) marks->eraseFromParent();
    module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module_.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
    builder_.finalize();
  }

 private:
  llvm::DIFile* file_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return builder_.createFile(path.empty() ? "program" : path, "");
    return builder_.createFile(path.substr(slash + 1), path.substr(0, slash));
  }

  llvm::Module& module_;
  llvm::DIBuilder builder_;
  llvm::DISubroutineType* type_;
  std::vector<Line> lines_;  // of each group
};

// The scope of marks: of no unit, and gone before code is made.
llvm::DISubprogram* mark_scope(llvm::Module& module) {
  llvm::NamedMDNode* marks = module.getOrInsertNamedMetadata(kMarks);
  if (marks->getNumOperands() == 0) {
    llvm::LLVMContext& context = module.getContext();
    marks->addOperand(llvm::DISubprogram::getDistinct(context, nullptr, "", "", nullptr, 0, nullptr, 0, nullptr, 0, 0,
                                                      llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagZero, nullptr));
  }
  return llvm::cast<llvm::DISubprogram>(marks->getOperand(0));
}

}  // namespace

bool perf_wanted() {
  static const bool wanted = is_set("CT_PERF");
  return wanted;
}
bool gdb_wanted() {
  static const bool wanted = is_set("CT_GDB");
  return wanted;
}

std::string readable_symbol(const loop::Program& program, std::string_view name) {
  for (size_t group = program.groups.size(); group-- > 0;) {
    if (const Line line = line_of(program.groups[group]); line.line != 0) return concat(name, " ", line.text);
  }
  return std::string(name);
}

void mark_group(llvm::IRBuilderBase& builder, llvm::Module& module, uint32_t group) {
  builder.SetCurrentDebugLocation(llvm::DILocation::get(module.getContext(), group, 0, mark_scope(module)));
}

void add_debug_information(llvm::Module& module, const loop::Program& program, const Outline& outline,
                           std::string_view symbol) {
  for (uint32_t number = 1; number < outline.functions.size(); ++number) {
    const OutlinedFunction& cut = outline.functions[number];
    llvm::Function* function = module.getFunction(concat(symbol, ".", number));
    if (function == nullptr || cut.block != 0 || cut.begin == cut.end) continue;
    const std::string& group = program.groups[program.blocks[0].statements[cut.begin].group];
    function->setName(concat(symbol, ".", number, " ", operations_of(group), " ", line_of(group).text));
  }
  DebugInformation information(module, program);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) information.add(function);
  }
  information.finish();
}

}  // namespace ct::jit
