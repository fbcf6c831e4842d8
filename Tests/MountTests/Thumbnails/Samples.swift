/// Documents as real programs make them.
enum Samples {
    /// A shell script: one of each type that Quire renders by itself, in the working directory.
    static let script = """
        convert -size 600x400 gradient:red-blue photo.jpg
        convert -size 90x60 xc:green small.png
        convert -size 300x500 plasma:fractal tall.webp
        convert -size 300x200 xc:blue scan.tiff
        convert -size 64x64 xc:yellow icon.bmp
        convert -size 40x40 xc:red -size 40x40 xc:blue moving.gif
        printf '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="lime"/></svg>' >drawing.svg
        printf 'A letter\\n\\nDear Ada, this is a letter of some words.\\n' >letter.txt
        printf 'int main(void) {\\n\\treturn 0;\\n}\\n' >program.c
        zip -q parts.zip letter.txt program.c; tar -czf parts.tar.gz letter.txt program.c
        ffmpeg -loglevel error -f lavfi -i testsrc=size=320x240:rate=5:duration=2 film.mkv
        ffmpeg -loglevel error -f lavfi -i sine=duration=1 -i photo.jpg -map 0 -map 1 -c:v mjpeg -disposition:v attached_pic sound.mp3
        python3 - <<'END'
        # A page of 200 x 100 points, all of it red.
        content = b"1 0 0 rg 0 0 200 100 re f"
        objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
                   b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R>>",
                   b"<</Length %d>>stream\\n%s\\nendstream" % (len(content), content)]
        data, places = b"%PDF-1.4\\n", []
        for number, text in enumerate(objects, 1):
            places.append(len(data)); data += b"%d 0 obj%s endobj\\n" % (number, text)
        table = len(data)
        data += b"xref\\n0 5\\n0000000000 65535 f \\n" + b"".join(b"%010d 00000 n \\n" % place for place in places)
        data += b"trailer<</Size 5/Root 1 0 R>>\\nstartxref\\n%d\\n%%%%EOF" % table
        open("page.pdf", "wb").write(data)
        END
        soffice --headless -env:UserInstallation=file://$HOME/office --convert-to odt letter.txt >/dev/null 2>&1

        """

    /// What the thumbnails of these are, of at most 128 pixels: name, width, height.
    static let normal = [
        ("drawing.svg", 128, 64), ("film.mkv", 128, 96), ("icon.bmp", 64, 64), ("letter.odt", 91, 128), ("letter.txt", 98, 128), ("moving.gif", 40, 40),
        ("page.pdf", 128, 64), ("parts.tar.gz", 98, 128), ("parts.zip", 98, 128), ("photo.jpg", 128, 85), ("program.c", 98, 128),
        ("scan.tiff", 128, 85), ("small.png", 90, 60), ("sound.mp3", 128, 85), ("tall.webp", 77, 128),
    ]

    /// Python: `colour(path, x, y)` is a pixel's colour in a picture, of red, green and blue; x and y from 0 to 1.
    static let colour = """
        import os, subprocess, sys, time
        def colour(path, x, y):
            text = subprocess.run(["convert", path, "-alpha", "off", "-depth", "8", "-format",
                "%[fx:int(255*p{w*" + str(x) + ",h*" + str(y) + "}.r)] %[fx:int(255*p{w*" + str(x) + ",h*" + str(y) + "}.g)] %[fx:int(255*p{w*"
                + str(x) + ",h*" + str(y) + "}.b)]", "info:"], check=True, capture_output=True, text=True).stdout
            return tuple(int(part) for part in text.split())

        """
}
