# For a tap: `brew tap gistread/gistread https://github.com/gistread/gistread` needs this file in `Formula/` of it.
class Gistread < Formula
  desc "Read long books in the terminal, beside a local language model"
  homepage "https://github.com/gistread/gistread"
  url "https://github.com/gistread/gistread/releases/download/v0.3.0/gistread-0.3.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license all_of: ["MIT", "Apache-2.0", "CC0-1.0"]
  head "https://github.com/gistread/gistread.git", branch: "main"

  depends_on "python@3.13"

  def install
    wheels = OS.mac? ? "metal" : "cpu"
    index = "https://abetlen.github.io/llama-cpp-python/whl/#{wheels}"
    system "python3.13", "-m", "venv", libexec
    pip = [libexec/"bin/python", "-m", "pip", "install"]
    system(*pip, "--no-deps", "--index-url", index, "llama-cpp-python")
    system(*pip, "#{buildpath}[starter]")
    bin.install_symlink libexec/"bin/gistread"
    man1.install_symlink libexec/"share/man/man1/gistread.1"
    generate_completions_from_executable(bin/"gistread", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gistread --version")
    assert_match "The Ferry Bell", shell_output("#{bin}/gistread toc sample")
  end
end
