// SPDX-License-Identifier: BSD-3-Clause
// How fast tables of text are read, and their labels numbered:
//   polyad_perf_tables [LINES] [ROWS] [LABELS] [THREADS]
//
// Reading: a CSV of LINES lines `user,item,rating,timestamp`, without quotes, from the page cache. The
// yardstick counts the line ends of the same bytes with one thread, by memchr. Numbering: three columns of
// ROWS texts that are in memory, with LABELS distinct ones in all. scripts/perf_tables.py compares it with
// pandas.factorize. Prints JSON.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/on_threads.hpp"
#include "io/delimited/column_labels.hpp"
#include "io/memory/read_memory.hpp"
#include "polyad/io/tensor_file.hpp"

namespace {

using namespace polyad;

double seconds_of(auto const& work) {
  auto const begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The processor time of all threads of this process so far.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto const of = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

std::uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// A number of 64 bits for each k (splitmix64, Steele, Lea and Flood 2014).
std::uint64_t random_of(std::uint64_t k) {
  k = (k + 1) * 0x9E3779B97F4A7C15;
  k = (k ^ (k >> 30)) * 0xBF58476D1CE4E5B9;
  k = (k ^ (k >> 27)) * 0x94D049BB133111EB;
  return k ^ (k >> 31);
}

void write_ratings(std::filesystem::path const& path, std::uint64_t lines) {
  std::ofstream file(path);
  file << "userId,movieId,rating,timestamp\n";
  for (std::uint64_t k = 0; k < lines; ++k) {
    auto const x = random_of(k);
    file << 1 + x % 138493 << ',' << 1 + (x >> 20) % 26744 << ','
         << static_cast<double>(1 + (x >> 40) % 10) / 2 << ',' << 789652009 + (x >> 33) % 638131993 << '\n';
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

struct Column {
  std::string bytes;
  std::vector<std::uint64_t> ends;
};

Column column_of(std::uint64_t rows, std::uint64_t labels, std::uint64_t which) {
  Column column;
  column.bytes.reserve(rows * 12);
  column.ends.reserve(rows);
  for (std::uint64_t k = 0; k < rows; ++k) {
    column.bytes += 'n';
    column.bytes += std::to_string(10000000 + random_of(3 * k + which) % labels);
    column.ends.push_back(column.bytes.size());
  }
  return column;
}

void measure_reading(std::uint64_t lines, int threads) {
  constexpr int trials = 5;
  auto const path =
      std::filesystem::temp_directory_path() / ("polyad_perf_tables_" + std::to_string(getpid()) + ".csv");
  write_ratings(path, lines);
  double best = std::numeric_limits<double>::max(), yardstick = best, processor = best;
  std::uint64_t nnz = 0;
  std::string text(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(text.data(), static_cast<std::streamsize>(text.size()));
  for (int trial = 0; trial < trials; ++trial) {
    std::uint64_t found = 0;
    yardstick           = std::min(yardstick, seconds_of([&] {
                           char const *p = text.data(), *const end = p + text.size();
                           while ((p = static_cast<char const*>(
                                       std::memchr(p, '\n', static_cast<std::size_t>(end - p)))) != nullptr) {
                             ++found;
                             if (++p == end) break;
                           }
                                   }));
    if (found != lines + 1) throw std::runtime_error("the table has other lines");
    double const before = processor_seconds();
    best                = std::min(best, seconds_of([&] {
                      io::ReadOptions options;
                      options.threads       = threads;
                      options.table.columns = {"userId", "movieId", "rating"};
                      nnz                   = io::read_tensor(path, options).tensor.nnz();
                                   }));
    processor           = std::min(processor, processor_seconds() - before);
  }
  auto const megabytes = static_cast<double>(text.size()) / 1e6;
  std::filesystem::remove(path);
  std::printf(R"("lines": %llu, "megabytes": %.1f, "nonzeros": %llu, "threads": %d, "read_s": %.3f, )"
              R"("read_mb_per_s": %.0f, "read_processor_s": %.3f, "count_lines_mb_per_s": %.0f, )",
              static_cast<unsigned long long>(lines), megabytes, static_cast<unsigned long long>(nnz),
              threads, best, megabytes / best, processor, megabytes / yardstick);
}

void measure_numbering(std::uint64_t rows, std::uint64_t labels, int threads) {
  constexpr std::uint64_t columns = 3;
  std::vector<Column> texts;
  for (std::uint64_t c = 0; c < columns; ++c) texts.push_back(column_of(rows, labels / columns, c));
  std::uint64_t const before = peak_bytes();
  std::uint64_t found        = 0;
  io::ReadMemory memory(std::nullopt);
  std::vector<std::vector<std::uint32_t>> rows_of_columns;
  double const processor = processor_seconds();
  double const seconds   = seconds_of([&] {
    for (Column const& column : texts) {
      auto& numbers       = rows_of_columns.emplace_back(rows);
      auto const of       = static_cast<std::uint64_t>(threads);
      auto const begin_of = [&](std::uint64_t t) { return rows / of * t + std::min(t, rows % of); };
      std::deque<io::ColumnLabels> own;
      for (std::uint64_t t = 0; t < of; ++t) own.emplace_back(memory);
      detail::for_each_on_threads(threads, of, [&](std::uint64_t t) {
        for (std::uint64_t k = begin_of(t); k < begin_of(t + 1); ++k) {
          std::uint64_t const begin = k == 0 ? 0 : column.ends[k - 1];
          own[t].number_later(std::string_view(column.bytes).substr(begin, column.ends[k] - begin), k,
                              &numbers[k]);
        }
        own[t].finish();
      });
      std::vector<io::ColumnLabels*> all;
      for (auto& labels_of_thread : own) all.push_back(&labels_of_thread);
      auto const numbering = io::number_rows(all, memory);
      detail::for_each_on_threads(threads, of, [&](std::uint64_t t) {
        auto const& row_of = numbering.of_each[t];
        for (std::uint64_t k = begin_of(t); k < begin_of(t + 1); ++k) numbers[k] = row_of[numbers[k]];
      });
      found += numbering.rows;
    }
  });
  std::printf(R"("rows": %llu, "labels": %llu, "number_s": %.2f, "number_processor_s": %.2f, )"
              R"("number_bytes": %llu)",
              static_cast<unsigned long long>(rows), static_cast<unsigned long long>(found), seconds,
              processor_seconds() - processor, static_cast<unsigned long long>(peak_bytes() - before));
}

}  // namespace

int main(int argc, char** argv) try {
  auto const number = [&](int k, std::uint64_t usual) {
    return argc > k ? std::strtoull(argv[k], nullptr, 10) : usual;
  };
  int const threads = static_cast<int>(number(4, 2));
  std::printf("{");
  measure_reading(number(1, 5000000), threads);
  measure_numbering(number(2, 30000000), number(3, 1000000), threads);
  std::printf("}\n");
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
