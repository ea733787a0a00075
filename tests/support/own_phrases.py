"""Short phrases in ten languages, written for the tests; ``make_own_collection`` combines them into texts.

A sentence of a language is made from a pattern: a time, a subject, a verb, an object and a place. Phrases are of four
words at most, so that few shingles of five words occur in texts that have nothing to do with each other.
"""

# ruff: noqa: E501 - formatted by hand

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """The patterns of sentences, the phrases of each role, and the words around them."""

    patterns: tuple[str, ...]
    roles: dict[str, tuple[str, ...]]
    space: str = " "
    """Between two sentences of a paragraph."""


def _language(patterns: str, space: str = " ", **roles: str) -> Language:
    split = {role: tuple(part.strip() for part in text.split("|")) for role, text in roles.items()}
    return Language(tuple(line.strip() for line in patterns.strip().splitlines()), split, space)


LANGUAGES = {
    "en": _language(
        """{time} {subject} {verb} {object} {place}.
        {subject} {verb} {object}, and {time} {other} {again} it.
        Note {number}: {subject} {verb} {object} {place}.""",
        time="on Monday|before lunch|in early May|after the storm|at noon|one evening|last winter|since Easter|"
        "during the fair|at first light|two days later|that same week",
        subject="the librarian|our neighbour|a young baker|the mayor|Mrs Alder|the night porter|her brother|"
        "the surveyor|an old sailor|the choir|the new teacher|a travelling clockmaker",
        other="nobody|the clerk|his aunt|somebody else|the judge|Mr Hollis|the whole street|a stranger",
        verb="repaired|sold|painted|hid|measured|lost|borrowed|described|carried away|forgot|praised|ordered",
        again="returned|found|refused|copied|remembered|weighed|bought|cleaned",
        object="the blue ladder|eleven chairs|a map|the spare key|three sacks of flour|the church bell|his bicycle|"
        "a letter without stamp|the garden gate|some copper wire|the attendance book|two wooden boats",
        place="behind the mill|in the attic|near the bridge|under the stairs|at the market|beside the river|"
        "on the roof|in the cellar|along the canal|outside the school|by the well|across the square",
    ),
    "de": _language(
        """{time} {verb} {subject} {object} {place}.
        {subject} {verb} {object}, und {other} {again} es {place}.
        Vermerk {number}: {subject} {verb} {object} {time}.""",
        time="am Dienstag|vor dem Frühstück|im späten Herbst|nach der Sitzung|gegen Mittag|eines Abends|"
        "im vorigen Jahr|seit Ostern|während der Ferien|bei Sonnenaufgang|zwei Tage später|in derselben Woche",
        subject="der Gärtner|unsere Nachbarin|ein junger Müller|die Bürgermeisterin|Herr Öhlmann|der Nachtwächter|"
        "seine Schwester|die Landvermesserin|ein alter Schäfer|der Chor|die neue Lehrerin|ein fremder Uhrmacher",
        other="niemand|der Schreiber|ihre Tante|jemand anders|das Gericht|Frau Weiß|die ganze Straße|ein Gast",
        verb="reparierte|verkaufte|bemalte|versteckte|vermaß|verlor|holte|beschrieb|brachte|vergaß|lobte|bestellte",
        again="fand|verweigerte|prüfte|wog|kaufte|putzte|zeichnete|bemerkte",
        object="die blaue Leiter|elf Stühle|eine Karte|den zweiten Schlüssel|drei Säcke Mehl|die Glocke|sein Fahrrad|"
        "einen Brief ohne Marke|das Gartentor|etwas Kupferdraht|das Klassenbuch|zwei hölzerne Boote",
        place="hinter der Mühle|auf dem Dachboden|nahe der Brücke|unter der Treppe|auf dem Markt|neben dem Fluss|"
        "auf dem Dach|im Keller|entlang des Grabens|vor der Schule|am Brunnen|jenseits des Platzes",
    ),
    "fr": _language(
        """{time}, {subject} {verb} {object} {place}.
        {subject} {verb} {object}, puis {other} {again} le reste {time}.
        Note {number} : {subject} {verb} {object} {place}.""",
        time="lundi|avant midi|au début de mai|après l'orage|à midi|un soir|l'hiver dernier|depuis Pâques|"
        "pendant la foire|à l'aube|deux jours plus tard|cette semaine",
        subject="le libraire|notre voisine|un jeune boulanger|la mairesse|madame Aubépin|le veilleur|son frère|"
        "la géomètre|un vieux marin|la chorale|le nouveau maître|un horloger ambulant",
        other="personne d'autre|le greffier|sa tante|quelqu'un|le juge|monsieur Tilleul|toute la rue|une inconnue",
        verb="a réparé|a vendu|a peint|a caché|a mesuré|a perdu|a emprunté|a décrit|a emporté|a oublié|a loué|"
        "a commandé",
        again="a rendu|a trouvé|a refusé|a copié|a pesé|a acheté|a nettoyé|a dessiné",
        object="l'échelle bleue|onze chaises|une carte|la clé de secours|trois sacs de farine|la cloche|son vélo|"
        "une lettre sans timbre|le portail|du fil de cuivre|le registre|deux barques en bois",
        place="derrière le moulin|au grenier|près du pont|sous l'escalier|au marché|au bord du ruisseau|sur le toit|"
        "à la cave|le long du canal|devant l'école|à côté du puits|de l'autre côté",
    ),
    "es": _language(
        """{time}, {subject} {verb} {object} {place}.
        {subject} {verb} {object}, pero {other} {again} lo demás {time}.
        Nota {number}: {subject} {verb} {object} {place}.""",
        time="el miércoles|antes del desayuno|a principios de mayo|después de la lluvia|a mediodía|una noche|"
        "el invierno pasado|desde enero|durante la feria|al amanecer|dos días más tarde|aquella semana",
        subject="la bibliotecaria|nuestro vecino|un joven panadero|el alcalde|doña Encina|el sereno|su hermano|"
        "la topógrafa|un viejo pescador|el coro|el nuevo maestro|un relojero ambulante",
        other="nadie|el escribano|su tía|alguien más|la jueza|don Olmo|toda la calle|una señora desconocida",
        verb="arregló|vendió|pintó|escondió|midió|perdió|pidió|describió|se llevó|olvidó|alabó|encargó",
        again="devolvió|encontró|rechazó|copió|pesó|compró|limpió|dibujó",
        object="la escalera azul|once sillas|un mapa|la otra llave|tres sacos de harina|la campana|su bicicleta|"
        "una carta sin sello|la puerta del jardín|algo de alambre|el cuaderno gris|dos barcas de madera",
        place="detrás del molino|en el desván|cerca del puente|bajo la escalera|en el mercado|junto al río|"
        "sobre el tejado|en el sótano|a lo largo del canal|frente a la escuela|al lado del pozo|en la plaza",
    ),
    "el": _language(
        """{time} {subject} {verb} {object} {place}.
        {subject} {verb} {object}, αλλά {other} {again} τα υπόλοιπα {time}.
        Σημείωση {number}: {subject} {verb} {object} {place}.""",
        time="τη Δευτέρα|πριν το μεσημέρι|στις αρχές Ιουνίου|μετά την καταιγίδα|ένα βράδυ|τον περασμένο χειμώνα|"
        "από το Πάσχα|στο πανηγύρι|τα χαράματα|δύο μέρες αργότερα|εκείνη την εβδομάδα",
        subject="ο βιβλιοθηκάριος|η γειτόνισσα|ένας νέος φούρναρης|ο δήμαρχος|η κυρία Μυρτιά|ο νυχτοφύλακας|"
        "ο αδελφός της|ένας γέρος ναύτης|η χορωδία|ο νέος δάσκαλος|ένας ξένος ωρολογάς",
        other="κανείς|ο γραμματέας|η θεία του|κάποιος άλλος|ο δικαστής|όλος ο δρόμος|μια άγνωστη",
        verb="επισκεύασε|πούλησε|έβαψε|έκρυψε|μέτρησε|έχασε|δανείστηκε|περιέγραψε|πήρε|ξέχασε|παίνεψε|παρήγγειλε",
        again="επέστρεψε|βρήκε|αρνήθηκε|αντέγραψε|ζύγισε|αγόρασε|καθάρισε",
        object="τη γαλάζια σκάλα|έντεκα καρέκλες|έναν χάρτη|το δεύτερο κλειδί|τρία σακιά αλεύρι|την καμπάνα|"
        "το ποδήλατο|ένα γράμμα|την πόρτα του κήπου|λίγο σύρμα|δύο ξύλινες βάρκες",
        place="πίσω από τον μύλο|στη σοφίτα|κοντά στη γέφυρα|στην αγορά|δίπλα στο ποτάμι|στη στέγη|στο υπόγειο|"
        "έξω από το σχολείο|στο πηγάδι|απέναντι",
    ),
    "ru": _language(
        """{time} {subject} {verb} {object} {place}.
        {subject} {verb} {object}, а {other} {again} остальное {time}.
        Запись {number}: {subject} {verb} {object} {place}.""",
        time="в понедельник|до обеда|в начале мая|после грозы|в полдень|однажды вечером|прошлой зимой|с весны|"
        "во время ярмарки|на рассвете|через два дня|на той неделе",
        subject="библиотекарь|наш сосед|молодой пекарь|староста|господин Ольхов|ночной сторож|её брат|землемер|"
        "старый моряк|хор|новый учитель|заезжий часовщик",
        other="писарь|его дядя|кто-то другой|судья|весь дом|незнакомец|мельник|возчик",
        verb="починил|продал|покрасил|спрятал|измерил|потерял|одолжил|описал|унёс|забыл|похвалил|заказал",
        again="вернул|нашёл|отверг|переписал|взвесил|купил|почистил|нарисовал",
        object="синюю лестницу|одиннадцать стульев|карту|запасной ключ|три мешка муки|колокол|велосипед|"
        "письмо без марки|садовую калитку|медную проволоку|классный журнал|две деревянные лодки",
        place="за мельницей|на чердаке|возле моста|под лестницей|на рынке|у реки|на крыше|в подвале|вдоль канала|"
        "перед школой|у колодца|на площади",
    ),
    "ar": _language(
        """{time} {verb} {subject} {object} {place}.
        {verb} {subject} {object} ثم {again} {other} الباقي {time}.
        ملاحظة {number}: {verb} {subject} {object} {place}.""",
        time="يوم الاثنين|قبل الغداء|في أول الربيع|بعد العاصفة|عند الظهر|ذات مساء|في الشتاء الماضي|منذ شهر|عند الفجر|"
        "بعد يومين|في ذلك الأسبوع",
        subject="أمين المكتبة|جارنا|خباز شاب|رئيس البلدة|الحارس الليلي|أخوها|المهندس|بحار عجوز|المعلم الجديد|صانع الساعات",
        other="الكاتب|عمه|شخص آخر|القاضي|رجل غريب|الطحان|النجار",
        verb="أصلح|باع|دهن|أخفى|قاس|أضاع|استعار|وصف|حمل|نسي|مدح|طلب",
        again="أعاد|وجد|رفض|نسخ|وزن|اشترى|نظف|رسم",
        object="السلم الأزرق|الكراسي القديمة|خريطة كبيرة|المفتاح الثاني|ثلاثة أكياس|الجرس|الدراجة|رسالة بلا طابع|"
        "باب الحديقة|سلك النحاس|الدفتر الرمادي",
        place="خلف الطاحونة|في المخزن|قرب الجسر|تحت الدرج|في السوق|بجانب النهر|على السطح|أمام المدرسة|عند البئر|في الساحة",
    ),
    "th": _language(
        """{time}{subject}{verb}{object}{place}
        {subject}{verb}{object}แล้ว{other}{again}ส่วนที่เหลือ{time}
        บันทึกที่ {number} {subject}{verb}{object}{place}""",
        time="วันจันทร์|ก่อนเที่ยง|ต้นเดือนหก|หลังฝนตก|ตอนเย็น|ปีก่อน|ตั้งแต่เช้า|ระหว่างงานวัด|รุ่งสาง|สองวันต่อมา|สัปดาห์นั้น",
        subject="บรรณารักษ์|เพื่อนบ้าน|คนทำขนม|ผู้ใหญ่บ้าน|ป้าแก้ว|ยามกลางคืน|พี่ชายของเธอ|ช่างรังวัด|ชาวเรือเก่า|ครูคนใหม่|ช่างนาฬิกา",
        other="เสมียน|น้าของเขา|คนอื่น|คนแปลกหน้า|ลุงมั่น|เด็กสองคน",
        verb="ซ่อม|ขาย|ทาสี|ซ่อน|วัดขนาด|ทำหาย|ยืม|แบก|ลืม|ชม|สั่งทำ",
        again="ส่งคืน|พบ|ปฏิเสธ|คัดลอก|ชั่ง|ซื้อ|ล้าง|วาด",
        object="บันไดสีฟ้า|เก้าอี้สิบตัว|แผนที่|กุญแจสำรอง|แป้งสามถุง|ระฆัง|จักรยาน|จดหมาย|ประตูสวน|ลวดทองแดง|เรือไม้สองลำ",
        place="หลังโรงสี|บนห้องใต้หลังคา|ใกล้สะพาน|ใต้บันได|ที่ตลาด|ริมแม่น้ำ|บนหลังคา|หน้าโรงเรียน|ข้างบ่อน้ำ|กลางลาน",
    ),
    "zh": _language(
        """{time},{subject}在{place}{verb}了{object}。
        {subject}{verb}了{object},后来{other}{time}{again}了其余的。
        记录第{number}条:{subject}在{place}{verb}了{object}。""",
        space="",
        time="星期一|午饭以前|五月初|暴雨之后|中午|有一天晚上|去年冬天|从春节起|赶集的时候|天刚亮|两天以后|那个星期",
        subject="图书管理员|我们的邻居|年轻的面包师|村长|柳太太|守夜人|她的哥哥|测量员|老船工|合唱队|新来的老师|修表的人",
        other="书记员|他的姑妈|另一个人|法官|全街的人|陌生人|木匠",
        verb="修好|卖掉|油漆|藏起|量过|弄丢|借走|描写|搬走|忘记|夸奖|订购",
        again="归还|找到|拒绝|抄写|称过|买下|擦净|画下",
        object="蓝色的梯子|十一把椅子|一张地图|备用钥匙|三袋面粉|教堂的钟|那辆自行车|没贴邮票的信|花园的门|几米铜线|点名册|两条木船",
        place="磨坊后面|阁楼里|桥边|楼梯下|集市上|河岸|屋顶上|地窖里|运河旁|学校门口|井边|广场对面",
    ),
    "ja": _language(
        """{time}、{subject}は{place}で{object}を{verb}。
        {subject}は{object}を{verb}が、{other}は{time}に残りを{again}。
        記録{number}:{subject}は{place}で{object}を{verb}。""",
        space="",
        time="月曜日|昼食の前|五月のはじめ|嵐のあと|正午|ある晩|去年の冬|春から|祭りのあいだ|夜明け|二日後|その週",
        subject="司書|となりの人|若いパン屋|村長|柳さん|夜警|彼女の兄|測量士|年老いた船乗り|合唱団|新しい先生|時計職人",
        other="書記|彼のおば|ほかの誰か|裁判官|町の人々|旅人|大工",
        verb="直した|売った|塗った|隠した|測った|なくした|借りた|描いた|運んだ|忘れた|ほめた|注文した",
        again="返した|見つけた|断った|写した|量った|買った|洗った|調べた",
        object="青いはしご|十一脚のいす|古い地図|予備の鍵|三袋の小麦粉|鐘|自転車|切手のない手紙|庭の門|銅の針金|出席簿|二そうの木の舟",
        place="水車小屋の裏|屋根裏|橋の近く|階段の下|市場|川べり|屋根の上|地下室|運河のそば|学校の前|井戸のわき|広場の向こう",
    ),
}
"""Languages by their code; th, zh and ja have no spaces between words."""
