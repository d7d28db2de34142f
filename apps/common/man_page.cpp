#include <fmt/format.h>

#include <string_view>

#include "apps/common/command_line.hpp"
#include "apps/common/manual.hpp"
#include "apps/common/manual_option.hpp"
#include "whilst/version.hpp"

namespace whilst::command {
namespace {

std::string upper_case(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

/// Escapes text so that nothing in it is a roff request or escape, and no minus becomes a hyphen.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) result += "\\&";
    c == '\\' ? result += "\\e" : c == '-' ? result += "\\-" : result += c;
  }
  return result;
}

void append_option(std::string& page, const manual_option& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", plain(name));
  const std::string value = option.value.empty() ? "" : fmt::format("\\fI{}\\fR", plain(option.value));
  page += fmt::format(".TP\n{}{}{}\n{}\n", names, names.empty() || value.empty() ? "" : " ", value,
                      plain(option.description));
}

/// A footer: paragraphs, some recognised by their first word. Text set in columns stays so.
void append_footer(std::string& page, std::string_view footer) {
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find("\n\n"), footer.size());
    std::string_view paragraph = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 2, footer.size()));
    const auto rest_after = [&](std::string_view word) {
      const std::string_view rest = paragraph.substr(word.size());
      return rest.substr(std::min(rest.find_first_not_of(" \n"), rest.size()));
    };
    if (paragraph.rfind("Example", 0) == 0) {
      page += fmt::format(".PP\n.nf\n{}\n.fi\n", plain(paragraph));
    } else if (constexpr std::string_view status = "Exit status:"; paragraph.rfind(status, 0) == 0) {
      page += fmt::format(".PP\nExit status: {}\n", plain(rest_after(status)));
    } else {
      page += fmt::format(".PP\n{}\n", plain(paragraph));
    }
  }
}

}  // namespace

std::string man_page(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string page = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", upper_case(name), name, version);
  page += fmt::format(".SH NAME\n{} \\- {}\n", name, plain(app.get_description()));
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n", name);
  page += ".SH OPTIONS\n";
  for (const manual_option& option : options_of(app)) append_option(page, option);
  append_footer(page, app.get_footer());
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format(".SS {} {}\n{}\n", name, command->get_name(), plain(command->get_description()));
    for (const manual_option& option : options_of(*command)) append_option(page, option);
    append_footer(page, command->get_footer());
  }
  return page;
}

}  // namespace whilst::command
